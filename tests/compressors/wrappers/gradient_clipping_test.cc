#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

constexpr int64_t kSize = 70001;

HarnessOptions OptionsOf(const std::string& config, int num_workers) {
  HarnessOptions options;
  options.config = CompressorConfigFrom(config);
  options.dense_size = kSize;
  options.num_workers = num_workers;
  return options;
}

double Norm(const std::vector<float>& x) {
  double sum = 0;
  for (const float each : x) sum += double{each} * each;
  return std::sqrt(sum);
}

TEST(GradientClippingTest, LimitIsThatOfTheJobOverTheRootOfTheWorkers) {
  const std::vector<float> gradient = MakeVector("laplace", kSize, 1);
  const double norm = Norm(gradient);  // About 370.
  for (const int num_workers : {1, 4, 9}) {
    Harness harness(OptionsOf("name: 'none' clip_norm: 30", num_workers));
    const std::vector<float> sent = harness.Decode(harness.Compress(gradient));
    const double limit = 30 / std::sqrt(num_workers);
    EXPECT_NEAR(Norm(sent), limit, 1e-6 * limit);
    for (int64_t i = 0; i < kSize; ++i) {
      ASSERT_NEAR(sent[i], gradient[i] * limit / norm,
                  1e-6 * std::abs(sent[i]));
    }
  }
}

TEST(GradientClippingTest, ShorterGradientsStayAsTheyAre) {
  const std::vector<float> gradient = MakeVector("laplace", kSize, 1);
  const double norm = Norm(gradient);
  Harness harness(OptionsOf(
      absl::StrCat("name: 'none' clip_norm: ", 2 * norm * (1 + 1e-9)), 4));
  EXPECT_EQ(harness.Decode(harness.Compress(gradient)), gradient);
  const std::vector<float> zeros(kSize, 0.0f);
  EXPECT_EQ(harness.Decode(harness.Compress(zeros)), zeros);
}

// Clips the gradient, not the residual or the momentum that accumulate it.
TEST(GradientClippingTest, ComesBeforeMomentumAndResidual) {
  Harness harness(
      OptionsOf("name: 'none' clip_norm: 1 "
                "momentum_correction { momentum: 0.5 factor_masking: false }",
                1));
  std::vector<float> gradient(kSize, 0.0f);
  gradient[7] = -100;
  for (const float expected : {-1.0f, -1.5f, -1.75f}) {
    EXPECT_FLOAT_EQ(harness.Decode(harness.Compress(gradient))[7], expected);
  }

  Harness sparse(OptionsOf("name: 'topk' ratio: 1e-5 clip_norm: 1", 1));
  std::vector<float> two(kSize, 0.0f);
  two[7] = 4;
  two[9] = 3;
  EXPECT_FLOAT_EQ(sparse.Decode(sparse.Compress(two))[7], 0.8f);
  EXPECT_FLOAT_EQ(sparse.Decode(sparse.Compress(two))[9], 1.2f);
}

}  // namespace
}  // namespace ps
