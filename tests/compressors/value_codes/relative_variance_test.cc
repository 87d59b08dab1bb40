// How much each code that rounds at random adds to the square of a vector: less
// than its bound, and as much as in the reference figures.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "compressors/value_codes/variance_bounds.h"
#include "gtest/gtest.h"
#include "tests/compressors/value_codes/value_coding.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

// WorstVariance is sharper than the bounds in the papers.
TEST(WorstVarianceTest, FiguresOfTheSpecification) {
  EXPECT_NEAR(WorstVariance(512, 1.0 / 16), 0.5, 0.1);
  EXPECT_NEAR(WorstVariance(512, 1.0 / 16), 1.0 / 8 + 2.0 * 2 / 9, 1e-12);
  // NUQSGD with s = 4 in the paper's notation.
  EXPECT_NEAR(WorstVariance(512, std::ldexp(1, -4)), 0.566, 0.004);
  // Equal magnitudes attain it.
  EXPECT_NEAR(WorstVariance(8192, 1.0 / 4), std::sqrt(8192.0) / 4 - 1, 1e-12);
}

double RelativeVariance(const PayloadCodes& codes, const std::vector<float>& v,
                        int times) {
  double error = 0;
  for (int t = 0; t < times; ++t) {
    error += SquaredDistance(Code(codes, v, 77 + t).decoded, v);
  }
  return error / times / SquaredDistance(v, std::vector<float>(v.size(), 0.0f));
}

TEST(RelativeVarianceTest, StaysBelowTheWorstCase) {
  constexpr int kBucket = 512;
  for (const char* law : {"gaussian", "laplace", "heavy", "constant"}) {
    const std::vector<float> v = MakeVector(law, 40 * kBucket, 9);
    for (const int bits : {2, 3, 4, 6}) {
      PayloadCodes codes = ValueCodes("qsgd");
      codes.value_config.set_bits(bits);
      const int levels = (1 << (bits - 1)) - 1;
      // 20 000 elements leave a spread of a few per cent.
      EXPECT_LE(RelativeVariance(codes, v, 5),
                1.05 * WorstVariance(kBucket, 1.0 / levels));
      for (const char* code : {"nuqsgd", "alq", "natural_dithering"}) {
        codes.value_code = code;
        EXPECT_LE(RelativeVariance(codes, v, 5),
                  1.05 * WorstVariance(kBucket, std::ldexp(1, 1 - levels)))
            << code << " " << bits << " " << law;
      }
    }
  }
}

TEST(RelativeVarianceTest, GaussianFiguresOfTheSpecification) {
  const std::vector<float> v = MakeVector("gaussian", 200 * 512, 3);
  const auto relative = [&v](const char* code, int bits) {
    PayloadCodes codes = ValueCodes(code);
    codes.value_config.set_bits(bits);
    return RelativeVariance(codes, v, 3);
  };
  // Reference figures for buckets of 512.
  EXPECT_NEAR(relative("qsgd", 2), 17.1, 0.4);
  EXPECT_NEAR(relative("qsgd", 4), 1.58, 0.04);
  EXPECT_NEAR(relative("qsgdinf", 2), 1.58, 0.04);
  EXPECT_NEAR(relative("qsgdinf", 4), 0.036, 0.002);
  EXPECT_NEAR(relative("nuqsgd", 3), 3.52, 0.1);
  EXPECT_NEAR(relative("nuqsgd", 4), 0.087, 0.003);
  EXPECT_NEAR(relative("natural", 4), 0.082, 0.003);
  EXPECT_NEAR(relative("natural_dithering", 3), 0.140, 0.005);
  EXPECT_NEAR(relative("natural_dithering", 4), 0.081, 0.003);
}

TEST(RelativeVarianceTest, GaussianValuesStayBelowTheirFormula) {
  for (const int64_t bucket : {64, 512, 8192}) {
    const std::vector<float> v =
        MakeVector("gaussian", std::max<int64_t>(65536, 8 * bucket), 3);
    for (const int bits : {2, 3, 4}) {
      PayloadCodes codes = ValueCodes("qsgdinf");
      codes.value_config.set_bits(bits);
      codes.value_config.set_bucket_size(bucket);
      const int levels = (1 << (bits - 1)) - 1;
      EXPECT_LE(RelativeVariance(codes, v, 2),
                GaussianVariance(bucket, 1.0 / levels));
      codes.value_code = "natural_dithering";
      EXPECT_LE(RelativeVariance(codes, v, 2),
                GaussianVariance(bucket, std::ldexp(1, 1 - levels)));
    }
  }
}

// Fitted levels, where NUQSGD's are at 17.1 and 0.335.
TEST(RelativeVarianceTest, FittedLevelsCutItToAFraction) {
  const std::vector<float> v = MakeVector("gaussian", 30 * 8192, 3);
  PayloadCodes codes = ValueCodes("alq");
  codes.value_config.set_bucket_size(8192);
  codes.value_config.set_bits(3);
  // Levels fitted to a sample are slightly worse, because of the few values
  // beyond it.
  EXPECT_NEAR(RelativeVariance(codes, v, 2), 0.348, 0.015);
  codes.value_config.set_bits(4);
  EXPECT_NEAR(RelativeVariance(codes, v, 2), 0.0385, 0.002);
}

TEST(TernaryTest, ClippingCutsTheVariance) {
  const std::vector<float> v = MakeVector("gaussian", 200000, 4);
  // Reference figures: variance 1.0 and squared bias 0.0027.
  EXPECT_NEAR(RelativeVariance(ValueCodes("ternary"), v, 2), 1.0, 0.03);
}

}  // namespace
}  // namespace ps
