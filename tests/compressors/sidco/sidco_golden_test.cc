// Golden vectors: thresholds and counts of an independent implementation in
// double precision, on vectors that need no random numbers.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
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
  const char* variant;
  double ratio;
  GoldenCell cells[3];  // For 1 to 3 stages.
};

// GPc and GPx use the closed form and the exact inverse of the gamma law; cc:
// with count correction. With C, E, 0.001 and one stage, nothing exceeds the
// threshold.
constexpr GoldenRow kRows[] = {
    {'A', "E", 0.1, {{2.302577, 10000}, {2.302572, 10000}, {2.302552, 10000}}},
    {'A', "E", 0.01, {{4.605154, 1000}, {4.605136, 1000}, {4.605070, 1000}}},
    {'A', "E", 0.001, {{6.907731, 100}, {6.907700, 100}, {6.907445, 100}}},
    {'A', "GPc", 0.1, {{2.318261, 9844}, {2.309947, 9927}, {2.309982, 9926}}},
    {'A', "GPc", 0.01, {{4.641861, 964}, {4.612148, 993}, {4.612385, 993}}},
    {'A', "GPc", 0.001, {{6.965460, 94}, {6.913623, 99}, {6.912430, 100}}},
    {'A', "GPx", 0.1, {{2.307739, 9949}, {2.302676, 9999}, {2.302739, 9998}}},
    {'A', "GPx", 0.01, {{4.626283, 979}, {4.604881, 1000}, {4.605205, 1000}}},
    {'A', "GPx", 0.001, {{6.946674, 96}, {6.906420, 100}, {6.905668, 100}}},
    {'A', "P", 0.1, {{2.302563, 10000}, {2.302638, 9999}, {2.302680, 9999}}},
    {'A', "P", 0.01, {{4.604911, 1000}, {4.604842, 1000}, {4.605238, 1000}}},
    {'A', "P", 0.001, {{6.907044, 100}, {6.906354, 100}, {6.905694, 100}}},
    {'A', "P cc", 0.1, {{2.302563, 10000}, {2.302638, 9999}, {2.302655, 9999}}},
    {'A', "P cc", 0.01, {{4.604911, 1000}, {4.604842, 1000}, {4.605238, 1000}}},
    {'A', "P cc", 0.001, {{6.907044, 100}, {6.906354, 100}, {6.905606, 100}}},
    {'B', "E", 0.1, {{2.878106, 10298}, {3.274856, 8055}, {3.363108, 7639}}},
    {'B', "E", 0.01, {{5.756211, 2170}, {7.149972, 1180}, {8.237691, 769}}},
    {'B', "E", 0.001, {{8.634317, 663}, {11.025089, 296}, {14.223779, 119}}},
    {'B', "GPc", 0.1, {{3.263712, 8109}, {3.283592, 8012}, {3.285002, 8005}}},
    {'B', "GPc", 0.01, {{6.704175, 1423}, {8.116004, 805}, {8.134734, 799}}},
    {'B', "GPc", 0.001, {{10.144638, 392}, {15.733210, 82}, {15.754369, 81}}},
    {'B', "GPx", 0.1, {{3.006665, 9497}, {3.085831, 9041}, {3.087122, 9034}}},
    {'B', "GPx", 0.01, {{6.304951, 1692}, {7.803761, 908}, {7.820334, 902}}},
    {'B', "GPx", 0.001, {{9.655981, 462}, {15.242966, 92}, {15.262064, 92}}},
    {'B', "P", 0.1, {{2.924366, 10001}, {2.927344, 9982}, {2.928511, 9975}}},
    {'B', "P", 0.01, {{7.549127, 1004}, {7.553434, 1002}, {7.569128, 996}}},
    {'B', "P", 0.001, {{14.862989, 101}, {14.849854, 101}, {14.871981, 101}}},
    {'B', "P cc", 0.1, {{2.924366, 10001}, {2.926455, 9987}, {2.926246, 9989}}},
    {'B', "P cc", 0.01, {{7.549127, 1004}, {7.552033, 1003}, {7.564915, 998}}},
    {'B',
     "P cc",
     0.001,
     {{14.862989, 101}, {14.847644, 101}, {14.872913, 101}}},
    {'C', "E", 0.1, {{2.078646, 4994}, {1.721211, 10454}, {1.707440, 10741}}},
    {'C', "E", 0.01, {{4.157291, 21}, {2.901643, 714}, {2.760409, 1019}}},
    {'C', "E", 0.001, {{6.235937, 0}, {4.082076, 26}, {3.725622, 75}}},
    {'C',
     "GPc",
     0.1,
     {{1.103611, 31368}, {1.291854, 23031}, {1.276238, 23651}}},
    {'C', "GPc", 0.01, {{2.190836, 3906}, {2.434877, 2238}, {2.443512, 2194}}},
    {'C', "GPc", 0.001, {{3.278061, 265}, {3.159636, 364}, {3.353587, 215}}},
    {'C', "GPx", 0.1, {{1.774481, 9406}, {1.722546, 10427}, {1.716718, 10547}}},
    {'C', "GPx", 0.01, {{3.056541, 478}, {2.762256, 1014}, {2.760878, 1018}}},
    {'C', "GPx", 0.001, {{4.271279, 15}, {3.544042, 127}, {3.627629, 100}}},
    {'C', "P", 0.1, {{1.810107, 8757}, {1.841438, 8218}, {1.836733, 8297}}},
    {'C', "P", 0.01, {{2.281168, 3189}, {2.856038, 801}, {2.854265, 805}}},
    {'C', "P", 0.001, {{2.403757, 2407}, {3.639546, 97}, {3.708636, 79}}},
    {'C',
     "P cc",
     0.1,
     {{1.810107, 8757}, {1.741442, 10045}, {1.741238, 10049}}},
    {'C', "P cc", 0.01, {{2.281168, 3189}, {2.778817, 973}, {2.769725, 996}}},
    {'C', "P cc", 0.001, {{2.403757, 2407}, {3.579913, 114}, {3.629775, 99}}},
    {'D', "E", 0.1, {{2.914631, 12069}, {3.656431, 8389}, {3.742999, 8053}}},
    {'D', "E", 0.01, {{5.829263, 3222}, {8.435162, 1169}, {9.289257, 857}}},
    {'D', "E", 0.001, {{8.743894, 1044}, {13.213893, 226}, {15.372105, 115}}},
    {'D', "GPc", 0.1, {{4.097058, 6831}, {3.915603, 7428}, {3.945343, 7326}}},
    {'D', "GPc", 0.01, {{9.146502, 902}, {9.519287, 789}, {9.620761, 761}}},
    {'D', "GPc", 0.001, {{14.195947, 165}, {16.937110, 71}, {16.556808, 80}}},
    {'D', "GPx", 0.1, {{3.320718, 9860}, {3.456873, 9230}, {3.490144, 9083}}},
    {'D', "GPx", 0.01, {{7.768960, 1499}, {8.891433, 989}, {9.004671, 949}}},
    {'D', "GPx", 0.001, {{12.448179, 290}, {16.229409, 88}, {15.814136, 100}}},
    {'D', "P", 0.1, {{2.951492, 11846}, {3.269978, 10108}, {3.305067, 9936}}},
    {'D', "P", 0.01, {{8.398699, 1185}, {8.630674, 1088}, {8.749390, 1042}}},
    {'D', "P", 0.001, {{18.451942, 45}, {15.935775, 96}, {15.502261, 110}}},
    {'D', "P cc", 0.1, {{2.951492, 11846}, {3.315139, 9887}, {3.316265, 9882}}},
    {'D', "P cc", 0.01, {{8.398699, 1185}, {8.692217, 1064}, {8.845753, 1006}}},
    {'D', "P cc", 0.001, {{18.451942, 45}, {16.019639, 94}, {15.751812, 102}}},
};

std::string ConfigOf(const std::string& variant) {
  if (variant == "E") return "name: 'sidco_e' sidco { ";
  if (variant == "GPc") return "name: 'sidco_gp' sidco { ";
  if (variant == "GPx") {
    return "name: 'sidco_gp' sidco { gamma_inverse: EXACT ";
  }
  if (variant == "P") return "name: 'sidco_p' sidco { ";
  EXPECT_EQ(variant, "P cc");
  return "name: 'sidco_p' sidco { count_correction: true ";
}

class SidcoGoldenTest : public testing::TestWithParam<GoldenRow> {};

TEST_P(SidcoGoldenTest, HasTheThresholdAndTheCount) {
  const GoldenRow& row = GetParam();
  const std::vector<float> gradient = GoldenVector(row.vector);
  for (int stages = 1; stages <= 3; ++stages) {
    SCOPED_TRACE(testing::Message() << stages << " stages");
    const GoldenCell& golden = row.cells[stages - 1];
    HarnessOptions options;
    options.config = CompressorConfigFrom(absl::StrCat(
        ConfigOf(row.variant), "profile: PAPER stages: ", stages, " }"));
    options.config.set_ratio(row.ratio);
    options.dense_size = static_cast<int64_t>(gradient.size());
    Harness harness(options);
    const CompressionStats stats = harness.Compress(gradient).stats;
    EXPECT_LE(std::abs(stats.raw_count - golden.count),
              std::max(2.0, 0.002 * golden.count))
        << stats.raw_count;
    if (golden.count == 0) {
      EXPECT_EQ(stats.fallback, "empty");
      EXPECT_EQ(stats.count, stats.target_count);
      continue;
    }
    EXPECT_EQ(stats.stages, stages);
    EXPECT_EQ(stats.fallback, "");
    EXPECT_EQ(stats.count, stats.raw_count);
    EXPECT_NEAR(stats.threshold, golden.threshold, 1e-4 * golden.threshold);
  }
}

// The tolerance above distinguishes the variants: the two gamma inverses in
// every cell, the others in some. (Count correction starts at stage 2.)
TEST(SidcoGoldenTableTest, NoVariantPassesForAnother) {
  int compared = 0;
  for (const GoldenRow& a : kRows) {
    for (const GoldenRow& b : kRows) {
      if (a.vector != b.vector || a.ratio != b.ratio ||
          a.variant != std::string("GPc") || b.variant != std::string("GPx")) {
        continue;
      }
      for (int i = 0; i < 3; ++i) {
        EXPECT_GT(std::abs(a.cells[i].threshold - b.cells[i].threshold),
                  2e-4 * b.cells[i].threshold);
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 4 * 3 * 3);
  const std::string variants[] = {"E", "GPc", "GPx", "P", "P cc"};
  for (const std::string& one : variants) {
    for (const std::string& other : variants) {
      if (one == other) continue;
      bool told_apart = false;
      for (const GoldenRow& a : kRows) {
        for (const GoldenRow& b : kRows) {
          if (a.vector != b.vector || a.ratio != b.ratio || a.variant != one ||
              b.variant != other) {
            continue;
          }
          told_apart = told_apart ||
                       std::abs(a.cells[1].threshold - b.cells[1].threshold) >
                           2e-4 * b.cells[1].threshold;
        }
      }
      EXPECT_TRUE(told_apart) << one << " and " << other;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllRows, SidcoGoldenTest, testing::ValuesIn(kRows),
                         [](const testing::TestParamInfo<GoldenRow>& info) {
                           return absl::StrReplaceAll(
                               absl::StrCat(std::string(1, info.param.vector),
                                            info.param.variant, "_",
                                            std::lround(1 / info.param.ratio)),
                               {{" ", ""}});
                         });

}  // namespace
}  // namespace ps
