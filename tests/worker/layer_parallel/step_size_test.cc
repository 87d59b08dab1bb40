#include "worker/layer_parallel/step_size.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "common/random.h"
#include "gtest/gtest.h"
#include "models/layers/convolution.h"
#include "tests/tensor/activations.h"

namespace ps {
namespace {

constexpr int64_t kChannels = 8;

// Of a square matrix, by power iterations that have long converged.
double ExactSingularValue(const std::vector<float>& matrix) {
  std::vector<double> v(kChannels, 1);
  double value = 0;
  for (int i = 0; i < 1000; ++i) {
    std::vector<double> u(kChannels);
    std::vector<double> next(kChannels);
    for (int64_t row = 0; row < kChannels; ++row) {
      for (int64_t column = 0; column < kChannels; ++column) {
        u[row] += double{matrix[row * kChannels + column]} * v[column];
      }
    }
    for (int64_t row = 0; row < kChannels; ++row) {
      for (int64_t column = 0; column < kChannels; ++column) {
        next[column] += double{matrix[row * kChannels + column]} * u[row];
      }
    }
    double norm = 0;
    for (const double x : next) norm += x * x;
    value = std::pow(norm, 0.25);  // next is the square of the matrix times v.
    for (int64_t j = 0; j < kChannels; ++j) v[j] = next[j] / std::sqrt(norm);
  }
  return value;
}

TEST(LargestSingularValue, IsThatOfALinearStage) {
  const std::unique_ptr<Backend> backend = CpuBackendForTest();
  LayerTimes times;
  std::vector<std::unique_ptr<Layer>> own;
  own.push_back(
      NewConvolutionLayer("conv", kChannels, SquareKernel(kChannels, 1)));
  const std::vector<PlacedLayer> layers = PlaceLayers(std::move(own));
  StagePlanOptions options;
  options.layers = &layers;
  options.start = ActivationDesc::Plain({2, kChannels, 3, 3});
  options.start_gradient = true;
  options.backend = backend.get();
  options.times = &times;
  const auto stage = StagePlan::Create(options);
  ASSERT_TRUE(stage.ok()) << stage.status();

  RandomStream random(1);
  std::vector<float> weights(kChannels * kChannels);
  for (float& w : weights) w = static_cast<float>(random.Uniform(-1, 1));
  std::vector<float> start(2 * kChannels * 9);
  for (float& x : start) x = static_cast<float>(random.Uniform(-1, 1));
  std::vector<float> gradient(weights.size());
  StagePlan::Values values;
  values.weights = weights.data();
  const auto value =
      LargestSingularValue(start.data(), values, gradient.data(), stage->get());
  ASSERT_TRUE(value.ok()) << value.status();
  const double exact = ExactSingularValue(weights);
  EXPECT_LT(*value, exact * 1.001);
  EXPECT_GT(*value, exact * 0.85);
}

}  // namespace
}  // namespace ps
