// The baselines against an independent implementation: golden vectors, and the
// quality on random samples.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

struct GoldenCell {
  double threshold;
  int64_t count;
};

constexpr int kNumMethods = 5;

// The order of the cells.
constexpr const char* kMethods[kNumMethods] = {
    "name: 'topk'",
    "name: 'redsync'",
    "name: 'redsync' redsync { search: TRIMMED }",
    "name: 'gaussiank'",
    "name: 'gaussiank' gaussiank { statistics: ABSOLUTE }",
};

struct GoldenRow {
  char vector;
  double ratio;
  GoldenCell cells[kNumMethods];
};

constexpr GoldenRow kRows[] = {
    {'A',
     0.1,
     {{2.302635, 10000},
      {2.400756, 9065},
      {0.999997, 36788},
      {2.326066, 9768},
      {2.644786, 7102}}},
    {'A',
     0.01,
     {{4.605670, 1000},
      {5.202275, 550},
      {3.241212, 3912},
      {2.731980, 6509},
      {2.681794, 6844}}},
    {'A',
     0.001,
     {{6.912768, 100},
      {6.603035, 136},
      {5.482427, 416},
      {6.980033, 93},
      {9.653389, 6}}},
    {'B',
     0.1,
     {{2.924545, 10000},
      {7.648067, 965},
      {1.249945, 32769},
      {3.353822, 7681},
      {2.925041, 9996}}},
    {'B',
     0.01,
     {{7.560688, 1000},
      {7.648067, 965},
      {1.249945, 32769},
      {7.878350, 882},
      {8.099996, 810}}},
    {'B',
     0.001,
     {{14.925323, 100},
      {14.046188, 125},
      {11.486940, 257},
      {15.096642, 95},
      {14.740838, 104}}},
    {'C',
     0.1,
     {{1.743747, 10000},
      {2.552210, 1695},
      {0.902744, 42413},
      {1.794778, 9031},
      {1.910927, 7125}}},
    {'C',
     0.01,
     {{2.768186, 1000},
      {2.552210, 1695},
      {2.662174, 1299},
      {2.810626, 899},
      {1.861163, 7894}}},
    {'C',
     0.001,
     {{3.628841, 100},
      {3.651854, 93},
      {3.541889, 127},
      {3.590479, 111},
      {2.189708, 3915}}},
    {'D',
     0.1,
     {{3.292035, 10000},
      {5.565801, 3595},
      {1.265808, 30747},
      {3.688062, 8264},
      {3.232633, 10295}}},
    {'D',
     0.01,
     {{8.862601, 1000},
      {14.165786, 167},
      {8.145796, 1302},
      {8.663385, 1075},
      {9.049903, 934}}},
    {'D',
     0.001,
     {{15.830798, 100},
      {14.165786, 167},
      {15.025784, 128},
      {16.600852, 79},
      {16.551141, 80}}},
};

CompressionStats CompressOnce(const std::string& config, double ratio,
                              const std::vector<float>& gradient) {
  HarnessOptions options;
  options.config = CompressorConfigFrom(config);
  options.config.set_ratio(ratio);
  options.dense_size = static_cast<int64_t>(gradient.size());
  Harness harness(options);
  return harness.Compress(gradient).stats;
}

class BaselinesGoldenTest : public testing::TestWithParam<GoldenRow> {};

TEST_P(BaselinesGoldenTest, HaveTheThresholdAndTheCount) {
  const std::vector<float> gradient = GoldenVector(GetParam().vector);
  for (int i = 0; i < kNumMethods; ++i) {
    SCOPED_TRACE(kMethods[i]);
    const GoldenCell& golden = GetParam().cells[i];
    const CompressionStats stats =
        CompressOnce(kMethods[i], GetParam().ratio, gradient);
    EXPECT_EQ(stats.fallback, "");
    EXPECT_EQ(stats.count, stats.raw_count);
    EXPECT_LE(std::abs(stats.raw_count - golden.count),
              std::max(2.0, 0.002 * golden.count))
        << stats.raw_count;
    EXPECT_NEAR(stats.threshold, golden.threshold, 1e-4 * golden.threshold);
  }
}

INSTANTIATE_TEST_SUITE_P(AllRows, BaselinesGoldenTest, testing::ValuesIn(kRows),
                         [](const testing::TestParamInfo<GoldenRow>& info) {
                           return absl::StrCat(
                               std::string(1, info.param.vector), "_",
                               std::lround(1 / info.param.ratio));
                         });

struct QualityCell {
  double mean;
  double deviation;  // The deviation of one sample.
};

// RedSync is left out: its threshold follows the largest magnitude in steps, so
// its quality jumps between values, which a deviation does not describe.
constexpr const char* kTabulated[] = {
    "name: 'dgc'",
    "name: 'gaussiank'",
    "name: 'gaussiank' gaussiank { statistics: ABSOLUTE }",
};

struct QualityRow {
  const char* law;
  QualityCell cells[3][3];  // [kTabulated][ratio 0.1, 0.01, 0.001]
};

constexpr QualityRow kQuality[] = {
    {"laplace",
     {{{1.02, 0.05}, {1.01, 0.13}, {1.07, 0.18}},
      {{0.98, 0.00}, {6.51, 0.02}, {0.92, 0.02}},
      {{0.71, 0.00}, {6.85, 0.03}, {0.07, 0.00}}}},
    {"gamma 0.5",
     {{{0.99, 0.03}, {1.00, 0.09}, {0.90, 0.15}},
      {{0.92, 0.00}, {0.96, 0.01}, {0.33, 0.02}},
      {{0.68, 0.00}, {0.83, 0.01}, {0.36, 0.02}}}},
    {"GP 0.2",
     {{{1.00, 0.01}, {1.01, 0.13}, {0.94, 0.07}},
      {{0.77, 0.00}, {0.88, 0.01}, {0.94, 0.01}},
      {{1.00, 0.01}, {0.81, 0.01}, {1.03, 0.01}}}},
    {"gamma 0.7",
     {{{1.00, 0.02}, {1.02, 0.10}, {0.96, 0.18}},
      {{0.96, 0.00}, {0.70, 0.01}, {0.12, 0.01}},
      {{0.70, 0.00}, {6.52, 0.02}, {0.17, 0.02}}}},
    {"GP 0.1",
     {{{1.00, 0.01}, {1.01, 0.13}, {0.94, 0.07}},
      {{0.89, 0.00}, {0.69, 0.01}, {0.32, 0.01}},
      {{1.20, 0.00}, {0.68, 0.01}, {0.43, 0.01}}}},
    {"GP 0.3",
     {{{1.00, 0.01}, {1.01, 0.13}, {0.94, 0.07}},
      {{1.00, 0.02}, {0.90, 0.03}, {1.55, 0.06}},
      {{0.77, 0.02}, {0.79, 0.04}, {1.51, 0.07}}}},
    {"gaussian",
     {{{1.01, 0.02}, {1.05, 0.10}, {1.11, 0.14}},
      {{1.00, 0.00}, {1.00, 0.00}, {0.97, 0.03}},
      {{0.74, 0.00}, {7.79, 0.01}, {37.0, 0.1}}}},
};

class BaselinesQualityTest : public testing::TestWithParam<QualityRow> {};

// Checks to within four deviations. Each cell is a mean of five samples,
// rounded; its deviation is also estimated from five.
TEST_P(BaselinesQualityTest, MatchesTheReference) {
  constexpr int64_t kSize = int64_t{1} << 20;
  const std::vector<float> gradient = DrawLaw(GetParam().law, kSize, 20240607);
  for (int i = 0; i < 3; ++i) {
    for (int r = 0; r < 3; ++r) {
      const double ratio = std::pow(10, -(r + 1));
      SCOPED_TRACE(testing::Message() << kTabulated[i] << " " << ratio);
      const QualityCell& cell = GetParam().cells[i][r];
      const CompressionStats stats =
          CompressOnce(kTabulated[i], ratio, gradient);
      EXPECT_NEAR(static_cast<double>(stats.raw_count) / (ratio * kSize),
                  cell.mean,
                  4 * std::sqrt(1 + 1.0 / 5) * (cell.deviation + 0.005));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllLaws, BaselinesQualityTest,
                         testing::ValuesIn(kQuality),
                         [](const testing::TestParamInfo<QualityRow>& info) {
                           return absl::StrCat("Law", info.index);
                         });

}  // namespace
}  // namespace ps
