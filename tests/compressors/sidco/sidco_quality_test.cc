// The mean quality of the estimate (elements above the threshold divided by the
// target) on random samples of known laws, against tables from an independent
// implementation with 5 samples of 2^20.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

constexpr int64_t kSize = int64_t{1} << 20;
constexpr double kRatios[] = {0.1, 0.01, 0.001};

struct LawRow {
  const char* family;
  const char* law;
  double plain[3][3];      // [ratio][stages - 1]
  double corrected[3][2];  // [ratio][stages - 2]; 0: not tabulated.
};

constexpr LawRow kLaws[] = {
    {"E",
     "laplace",
     {{0.999, 0.999, 0.999}, {0.997, 0.997, 0.998}, {0.993, 0.995, 0.992}},
     {{1.000, 1.000}, {0.998, 0.999}, {0.996, 0.994}}},
    {"E",
     "gamma 0.5",
     {{1.292, 0.924, 0.907}, {3.180, 1.096, 0.946}, {8.499, 1.471, 1.065}},
     {{0.965, 0.979}, {1.141, 0.994}, {1.528, 1.023}}},
    {"E",
     "GP 0.2",
     {{1.030, 0.806, 0.764}, {2.174, 1.181, 0.769}, {6.648, 2.942, 1.189}},
     {{0.894, 0.936}, {1.267, 0.913}, {3.115, 1.168}}},
    {"E",
     "gaussian",
     {{0.662, 1.168, 1.212}, {0.024, 0.631, 1.132}, {0.000, 0.097, 0.679}},
     {{1.085, 1.064}, {0.566, 1.021}, {0.084, 0.915}}},
    {"E",
     "gamma 0.7",
     {{1.177, 0.973, 0.964}, {2.002, 1.063, 0.986}, {3.608, 1.239, 1.040}},
     {{0.983, 0.989}, {1.074, 1.000}, {1.250, 0.998}}},
    {"E",
     "GP 0.1",
     {{1.025, 0.905, 0.884}, {1.605, 1.123, 0.892}, {3.357, 1.995, 1.130}},
     {{0.949, 0.966}, {1.166, 0.966}, {2.064, 1.096}}},
    {"E",
     "GP 0.3",
     {{1.015, 0.700, 0.640}, {2.648, 1.176, 0.640}, {10.2, 3.689, 1.156}},
     {{0.836, 0.914}, {1.302, 0.849}, {3.966, 1.193}}},
    {"GP closed",
     "laplace",
     {{0.985, 0.993, 0.993}, {0.964, 0.991, 0.992}, {0.938, 0.983, 0.982}},
     {{1.000, 1.000}, {0.998, 0.999}, {0.991, 0.990}}},
    {"GP closed",
     "gamma 0.5",
     {{0.621, 0.808, 0.800}, {0.430, 0.833, 0.820}, {0.335, 0.736, 0.830}},
     {{0.993, 0.994}, {1.030, 1.002}, {0.940, 1.008}}},
    {"GP closed",
     "GP 0.2",
     {{0.812, 0.803, 0.803}, {1.424, 0.804, 0.805}, {3.918, 0.793, 0.795}},
     {{1.001, 1.001}, {1.003, 1.005}, {0.991, 0.994}}},
    {"GP closed",
     "gaussian",
     {{1.546, 1.507, 1.531}, {0.546, 1.463, 1.452}, {0.034, 2.165, 1.405}},
     {{0.984, 1.004}, {1.006, 0.993}, {1.611, 0.966}}},
    {"GP closed",
     "gamma 0.7",
     {{0.717, 0.820, 0.816}, {0.582, 0.834, 0.828}, {0.507, 0.784, 0.827}},
     {{0.997, 0.997}, {1.016, 1.003}, {0.961, 0.988}}},
    {"GP closed",
     "GP 0.1",
     {{0.894, 0.893, 0.892}, {1.227, 0.897, 0.897}, {2.326, 0.884, 0.886}},
     {{1.000, 1.000}, {1.003, 1.003}, {0.996, 0.997}}},
    {"GP closed",
     "GP 0.3",
     {{0.734, 0.722, 0.723}, {1.553, 0.717, 0.727}, {5.406, 0.698, 0.719}},
     {{1.003, 1.002}, {1.002, 1.010}, {0.974, 0.997}}},
    {"GP exact",
     "laplace",
     {{0.994, 0.999, 0.999}, {0.978, 0.997, 0.999}, {0.956, 0.992, 0.988}},
     {}},
    {"GP exact",
     "gamma 0.5",
     {{0.995, 0.998, 0.985}, {0.967, 1.038, 1.020}, {0.937, 0.910, 1.046}},
     {}},
    {"GP exact",
     "GP 0.2",
     {{0.950, 0.905, 0.905}, {1.694, 0.908, 0.910}, {4.615, 0.892, 0.896}},
     {}},
    {"GP exact",
     "gaussian",
     {{0.884, 1.089, 1.105}, {0.152, 1.063, 1.060}, {0.005, 1.435, 1.012}},
     {}},
    {"GP exact",
     "gamma 0.7",
     {{0.993, 0.999, 0.993}, {0.975, 1.018, 1.011}, {0.945, 0.947, 1.007}},
     {}},
    {"GP exact",
     "GP 0.1",
     {{0.980, 0.955, 0.954}, {1.372, 0.958, 0.959}, {2.612, 0.948, 0.949}},
     {}},
    {"GP exact",
     "GP 0.3",
     {{0.906, 0.853, 0.854}, {1.921, 0.851, 0.863}, {6.557, 0.822, 0.840}},
     {}},
    {"P",
     "laplace",
     {{0.999, 0.999, 0.999}, {0.999, 0.997, 0.998}, {1.001, 0.992, 0.987}},
     {{1.000, 1.000}, {0.998, 0.999}, {0.992, 0.990}}},
    {"P",
     "gamma 0.5",
     {{1.265, 1.054, 1.041}, {1.085, 1.100, 1.081}, {0.196, 0.956, 1.106}},
     {{0.996, 0.993}, {1.037, 1.004}, {0.894, 1.008}}},
    {"P",
     "GP 0.2",
     {{1.000, 1.001, 1.000}, {1.003, 1.003, 1.004}, {0.991, 0.990, 0.994}},
     {{1.001, 1.001}, {1.003, 1.004}, {0.990, 0.993}}},
    {"P",
     "gaussian",
     {{0.908, 0.942, 0.954}, {1.626, 0.920, 0.920}, {6.878, 1.205, 0.881}},
     {{1.001, 1.005}, {0.976, 0.997}, {1.267, 0.967}}},
    {"P",
     "gamma 0.7",
     {{1.145, 1.053, 1.047}, {0.928, 1.073, 1.067}, {0.309, 0.991, 1.068}},
     {{0.998, 0.997}, {1.018, 1.005}, {0.944, 0.989}}},
    {"P",
     "GP 0.1",
     {{1.000, 1.000, 1.000}, {1.004, 1.003, 1.002}, {0.994, 0.995, 0.995}},
     {{1.000, 1.000}, {1.004, 1.003}, {0.996, 0.996}}},
    {"P",
     "GP 0.3",
     {{1.001, 1.005, 1.006}, {0.996, 1.002, 1.013}, {0.972, 0.976, 0.995}},
     {{1.003, 1.003}, {1.000, 1.009}, {0.974, 0.994}}},
};

std::string ConfigOf(const std::string& family) {
  if (family == "E") return "name: 'sidco_e' sidco { ";
  if (family == "P") return "name: 'sidco_p' sidco { ";
  if (family == "GP exact") {
    return "name: 'sidco_gp' sidco { gamma_inverse: EXACT ";
  }
  EXPECT_EQ(family, "GP closed");
  return "name: 'sidco_gp' sidco { gamma_inverse: CLOSED ";
}

// Four standard deviations of the difference between one sample and the mean of
// five. `quality` is a count divided by the target, so it has at least Poisson
// noise. The fit adds noise, and adds more if the law has no fourth moment, so
// that a sample's variance varies widely.
double Tolerance(const std::string& law, double quality, double ratio) {
  const double poisson =
      std::sqrt(std::max(quality, 0.1) / (ratio * static_cast<double>(kSize)));
  const double fit = ratio == 0.1 ? 0.002 : ratio == 0.01 ? 0.007 : 0.02;
  const double moments = law == "GP 0.3" ? 6 : 1;
  const double deviation =
      std::max(poisson, moments * fit * std::max(quality, 1.0));
  return 4 * deviation * std::sqrt(1 + 1.0 / 5) + 0.0005;  // Rounding.
}

class SidcoQualityTest : public testing::TestWithParam<LawRow> {};

TEST_P(SidcoQualityTest, MatchesTheReference) {
  const LawRow& row = GetParam();
  const std::vector<float> gradient = DrawLaw(row.law, kSize, 20240607);
  const auto quality = [&](double ratio, int stages, bool corrected) {
    HarnessOptions options;
    options.config = CompressorConfigFrom(absl::StrCat(
        ConfigOf(row.family), "profile: PAPER stages: ", stages,
        " count_correction: ", corrected ? "true" : "false", " }"));
    options.config.set_ratio(ratio);
    options.dense_size = kSize;
    Harness harness(options);
    const CompressionStats stats = harness.Compress(gradient).stats;
    return static_cast<double>(stats.raw_count) / (ratio * kSize);
  };
  for (int r = 0; r < 3; ++r) {
    for (int stages = 1; stages <= 3; ++stages) {
      SCOPED_TRACE(testing::Message()
                   << "ratio " << kRatios[r] << ", " << stages << " stages");
      const double plain = row.plain[r][stages - 1];
      EXPECT_NEAR(quality(kRatios[r], stages, false), plain,
                  Tolerance(row.law, plain, kRatios[r]));
      if (stages == 1 || row.corrected[r][0] == 0) continue;
      const double corrected = row.corrected[r][stages - 2];
      EXPECT_NEAR(quality(kRatios[r], stages, true), corrected,
                  Tolerance(row.law, corrected, kRatios[r]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllLaws, SidcoQualityTest, testing::ValuesIn(kLaws),
                         [](const testing::TestParamInfo<LawRow>& info) {
                           return absl::StrCat("Law", info.index);
                         });

// The configuration that users get: adaptive, count-corrected, refined, with
// error feedback. Measured after the first 20 iterations, on what was sent: 5 %
// is the tolerance of the refinement.
TEST(SidcoTrainingTest, RobustProfileHoldsTheRatioUnderErrorFeedback) {
  constexpr int64_t kVector = int64_t{1} << 15;
  constexpr const char* kNames[3] = {"sidco_e", "sidco_gp", "sidco_p"};
  for (const double ratio : {0.1, 0.01}) {
    for (const char* law : {"laplace", "gamma 0.5", "gaussian"}) {
      SCOPED_TRACE(testing::Message() << law << ", ratio " << ratio);
      std::vector<Harness> harnesses;
      for (const char* name : kNames) {
        HarnessOptions options;
        options.config.set_name(name);
        options.config.set_ratio(ratio);
        options.dense_size = kVector;
        harnesses.emplace_back(options);
      }
      double sums[3] = {};
      int far_off[3] = {};
      constexpr int kIterations = 220;
      for (int i = 0; i < kIterations; ++i) {
        const std::vector<float> gradient = DrawLaw(law, kVector, i);
        for (int family = 0; family < 3; ++family) {
          const EncodedGradient encoded = harnesses[family].Compress(gradient);
          if (i < 20) continue;
          const double quality =
              static_cast<double>(encoded.stats.count) / (ratio * kVector);
          sums[family] += quality;
          if (std::abs(quality - 1) > 0.2) ++far_off[family];
        }
      }
      for (int family = 0; family < 3; ++family) {
        EXPECT_NEAR(sums[family] / (kIterations - 20), 1, 0.05)
            << kNames[family];
        EXPECT_LE(far_off[family], (kIterations - 20) / 20) << kNames[family];
      }
    }
  }
}

}  // namespace
}  // namespace ps
