// Properties of NovoGrad that hold for any gradients.
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "optimizers/optimizer.h"
#include "tests/optimizers/optimizer_harness.h"

namespace ps {
namespace {

double Distance(const std::vector<float>& a, const std::vector<float>& b,
                int64_t begin, int64_t end) {
  double sum = 0;
  for (int64_t i = begin; i < end; ++i) {
    const double difference = static_cast<double>(a[i]) - b[i];
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

UpdateInfo AtRate(double learning_rate, int t) {
  UpdateInfo update;
  update.learning_rate = learning_rate;
  update.update = t;
  return update;
}

// This includes tensors without adaptation. If the second moment started as 0,
// the step would be 1 / sqrt(1 - beta2) times as long.
TEST(NovogradTest, TheFirstStepOfEveryTensorIsAsLongAsTheLearningRate) {
  const std::vector<int64_t> sizes = {300, 5, 40};
  const Trajectory trajectory = RandomTrajectory(345, 1, /*seed=*/1);
  for (const float scale : {1e-6f, 1.0f, 1e6f}) {
    const auto novograd = NewRule(OptimizerFrom("name: 'novograd' epsilon: 0"),
                                  WholeTensors(sizes));
    std::vector<float> gradient = trajectory.gradients[0];
    for (float& g : gradient) g *= scale;
    // The weights are small, so that little of the step is lost to rounding.
    const std::vector<float> start(345, 0.001f);
    std::vector<float> weights = start;
    WholeStep(AtRate(0.125, 0), gradient, novograd.get(), &weights);
    int64_t begin = 0;
    for (const int64_t size : sizes) {
      EXPECT_NEAR(Distance(weights, start, begin, begin + size), 0.125, 1e-6)
          << "tensor of " << size << ", scale " << scale;
      begin += size;
    }
  }
}

TEST(NovogradTest, ALayerWhoseFirstGradientIsZeroStartsAtItsFirstRealOne) {
  const auto novograd = NewRule(OptimizerFrom("name: 'novograd' epsilon: 0"),
                                WholeTensors({20, 20}));
  std::vector<float> gradient(40, 0.0f);
  std::vector<float> weights(40, 1.0f);
  const std::vector<float> start = weights;
  for (int i = 0; i < 20; ++i) gradient[i] = 1.0f;
  WholeStep(AtRate(0.5, 0), gradient, novograd.get(), &weights);
  EXPECT_EQ(Distance(weights, start, 20, 40), 0);
  for (float& g : gradient) g = 3.0f;
  std::vector<float> before = weights;
  WholeStep(AtRate(0.5, 1), gradient, novograd.get(), &weights);
  EXPECT_NEAR(Distance(weights, before, 20, 40), 0.5, 1e-6);
}

// Linear regression with full gradients of `factor` times the loss; returns the
// weights after 30 updates.
std::vector<float> Regression(const char* rule, double learning_rate,
                              float factor) {
  constexpr int kSamples = 24;
  constexpr int kFeatures = 16;
  const std::vector<float> inputs =
      RandomTrajectory(kSamples * kFeatures, 0, /*seed=*/3).weights;
  const std::vector<float> targets =
      RandomTrajectory(kSamples, 0, /*seed=*/4).weights;
  const auto optimizer = NewRule(OptimizerFrom(rule), WholeTensors({16}));
  std::vector<float> weights(kFeatures, 0.5f);
  for (int t = 0; t < 30; ++t) {
    std::vector<float> gradient(kFeatures);
    for (int s = 0; s < kSamples; ++s) {
      const float* const x = &inputs[s * kFeatures];
      const float error =
          std::inner_product(x, x + kFeatures, weights.begin(), -targets[s]);
      for (int i = 0; i < kFeatures; ++i) {
        gradient[i] += factor * error * x[i] / kSamples;
      }
    }
    WholeStep(AtRate(learning_rate, t), gradient, optimizer.get(), &weights);
  }
  return weights;
}

TEST(NovogradTest, AConstantFactorOfTheLossChangesNothing) {
  const char* const kRule = "name: 'novograd' epsilon: 0";
  const std::vector<float> expected = Regression(kRule, 0.01, 1);
  const std::vector<float> start(16, 0.5f);
  ASSERT_GT(Distance(expected, start, 0, 16), 0.1);
  for (const float factor : {1e-3f, 0.37f, 1e3f}) {
    EXPECT_LT(Distance(Regression(kRule, 0.01, factor), expected, 0, 16), 1e-4)
        << factor;
  }
  // Momentum does depend on the factor, so this problem can show a difference.
  const char* const kMomentum = "name: 'momentum'";
  EXPECT_GT(Distance(Regression(kMomentum, 0.01, 1e-3f),
                     Regression(kMomentum, 0.01, 1), 0, 16),
            0.1);
}

TEST(NovogradTest, UnderAConstantGradientTheStepTendsToTheRateOver1MinusBeta1) {
  const struct {
    const char* config;
    double expected;  // In units of the learning rate.
  } kCases[] = {{"name: 'novograd'", 20},
                {"name: 'novograd' averaging: true", 1},
                {"name: 'novograd' beta1: 0.5", 2}};
  for (const auto& c : kCases) {
    const auto novograd = NewRule(OptimizerFrom(c.config), WholeTensors({64}));
    const std::vector<float> gradient(64, -0.7f);
    std::vector<float> weights(64, 0.0f);
    std::vector<float> before;
    for (int t = 0; t < 400; ++t) {
      before = weights;
      WholeStep(AtRate(1e-3, t), gradient, novograd.get(), &weights);
    }
    EXPECT_NEAR(Distance(weights, before, 0, 64) / 1e-3, c.expected,
                1e-3 * c.expected)
        << c.config;
  }
}

// The square of a float may overflow. Such a step is as long as any other, and
// the layer must be able to continue.
TEST(NovogradTest, AHugeGradientDoesNotStopALayerForGood) {
  const auto novograd =
      NewRule(OptimizerFrom("name: 'novograd' beta2: 0.5"), WholeTensors({20}));
  std::vector<float> weights(20, 0.0f);
  const std::vector<float> start = weights;
  WholeStep(AtRate(0.1, 0), std::vector<float>(20, 1e30f), novograd.get(),
            &weights);
  EXPECT_NEAR(Distance(weights, start, 0, 20), 0.1, 1e-6);
  for (int t = 1; t < 400; ++t) {
    WholeStep(AtRate(0.1, t), std::vector<float>(20, 0.0f), novograd.get(),
              &weights);
  }
  const std::vector<float> before = weights;
  WholeStep(AtRate(0.1, 400), std::vector<float>(20, 1.0f), novograd.get(),
            &weights);
  EXPECT_NEAR(Distance(weights, before, 0, 20), 0.1, 1e-5);
}

}  // namespace
}  // namespace ps
