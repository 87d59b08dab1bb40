// Golden vectors: thresholds and counts of an independent implementation in
// double precision, on vectors that need no random numbers.
#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

struct GoldenCell {
  double threshold;
  int64_t count;
};

struct GoldenRow {
  char vector;
  double ratio;
  GoldenCell sidco_e[3];  // By stages, 1 to 3.
  GoldenCell topk;
};

// In C, 0.001, one stage, nothing exceeds the threshold.
constexpr GoldenRow kRows[] = {
    {'A',
     0.1,
     {{2.302577, 10000}, {2.302572, 10000}, {2.302552, 10000}},
     {2.302635, 10000}},
    {'A',
     0.01,
     {{4.605154, 1000}, {4.605136, 1000}, {4.605070, 1000}},
     {4.605670, 1000}},
    {'A',
     0.001,
     {{6.907731, 100}, {6.907700, 100}, {6.907445, 100}},
     {6.912768, 100}},
    {'B',
     0.1,
     {{2.878106, 10298}, {3.274856, 8055}, {3.363108, 7639}},
     {2.924545, 10000}},
    {'B',
     0.01,
     {{5.756211, 2170}, {7.149972, 1180}, {8.237691, 769}},
     {7.560688, 1000}},
    {'B',
     0.001,
     {{8.634317, 663}, {11.025089, 296}, {14.223779, 119}},
     {14.925323, 100}},
    {'C',
     0.1,
     {{2.078646, 4994}, {1.721211, 10454}, {1.707440, 10741}},
     {1.743747, 10000}},
    {'C',
     0.01,
     {{4.157291, 21}, {2.901643, 714}, {2.760409, 1019}},
     {2.768186, 1000}},
    {'C',
     0.001,
     {{6.235937, 0}, {4.082076, 26}, {3.725622, 75}},
     {3.628841, 100}},
    {'D',
     0.1,
     {{2.914631, 12069}, {3.656431, 8389}, {3.742999, 8053}},
     {3.292035, 10000}},
    {'D',
     0.01,
     {{5.829263, 3222}, {8.435162, 1169}, {9.289257, 857}},
     {8.862601, 1000}},
    {'D',
     0.001,
     {{8.743894, 1044}, {13.213893, 226}, {15.372105, 115}},
     {15.830798, 100}},
};

class SidcoGoldenTest : public testing::TestWithParam<GoldenRow> {
 protected:
  CompressionStats RunRow(const std::string& config) const {
    const std::vector<float> gradient = GoldenVector(GetParam().vector);
    HarnessOptions options;
    options.config = CompressorConfigFrom(config);
    options.config.set_ratio(GetParam().ratio);
    options.dense_size = static_cast<int64_t>(gradient.size());
    Harness harness(options);
    return harness.Compress(gradient).stats;
  }
};

TEST_P(SidcoGoldenTest, SidcoEHasTheThresholdAndTheCount) {
  for (int stages = 1; stages <= 3; ++stages) {
    SCOPED_TRACE(testing::Message() << stages << " stages");
    const GoldenCell& golden = GetParam().sidco_e[stages - 1];
    const CompressionStats stats = RunRow(absl::StrCat(
        "name: 'sidco_e' sidco { profile: PAPER stages: ", stages, " }"));
    EXPECT_EQ(stats.stages, stages);
    EXPECT_LE(std::abs(stats.raw_count - golden.count),
              std::max(2.0, 0.002 * golden.count))
        << stats.raw_count;
    if (golden.count == 0) {
      EXPECT_EQ(stats.fallback, "empty");
      EXPECT_EQ(stats.count, stats.target_count);
      continue;
    }
    EXPECT_EQ(stats.fallback, "");
    EXPECT_EQ(stats.count, stats.raw_count);
    EXPECT_NEAR(stats.threshold, golden.threshold, 1e-4 * golden.threshold);
  }
}

TEST_P(SidcoGoldenTest, TopKHasTheSmallestMagnitudeAndTheCount) {
  const CompressionStats stats = RunRow("name: 'topk'");
  EXPECT_EQ(stats.count, GetParam().topk.count);
  EXPECT_NEAR(stats.threshold, GetParam().topk.threshold,
              1e-6 * GetParam().topk.threshold);
}

INSTANTIATE_TEST_SUITE_P(AllRows, SidcoGoldenTest, testing::ValuesIn(kRows),
                         [](const testing::TestParamInfo<GoldenRow>& info) {
                           return absl::StrFormat(
                               "%c_%d", info.param.vector,
                               std::lround(1 / info.param.ratio));
                         });

}  // namespace
}  // namespace ps
