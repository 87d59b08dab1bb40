// Cases that need a chain of layers that no architecture has.

#include "models/sequential_model.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "models/layers/affine_layers.h"
#include "models/layers/convolution.h"
#include "models/layers/unary_layers.h"
#include "tests/models/model_fixture.h"
#include "tests/tensor/activations.h"

namespace ps {
namespace {

absl::StatusOr<std::unique_ptr<Model>> Build(
    Backend* backend, std::vector<std::unique_ptr<Layer>> layers) {
  ModelOptions options;
  options.example = MnistShape();
  options.backend = backend;
  return NewSequentialModel(options, std::move(layers));
}

void ExpectRefused(const absl::Status& status, absl::string_view part) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), part)) << status;
}

TEST(SequentialModel, LayersThatDoNotFitAreNamed) {
  const std::unique_ptr<Backend> backend = CpuBackendForTest();
  ConvolutionShape one_by_one;
  one_by_one.out_channels = 2;
  one_by_one.kernel_height = 1;
  one_by_one.kernel_width = 1;

  std::vector<std::unique_ptr<Layer>> layers;
  layers.push_back(NewConvolutionLayer("colour", 3, one_by_one));
  ExpectRefused(Build(backend.get(), std::move(layers)).status(), "colour");

  layers.clear();
  layers.push_back(NewLinearLayer("wide", 785, 10));
  ExpectRefused(Build(backend.get(), std::move(layers)).status(), "wide");

  layers.clear();
  layers.push_back(NewLinearLayer("head", 784, 11));
  ExpectRefused(Build(backend.get(), std::move(layers)).status(), "[1, 11]");

  // A linear layer right after a convolution, without conversion to plain
  // order.
  layers.clear();
  layers.push_back(NewConvolutionLayer("conv", 1, one_by_one));
  layers.push_back(NewLinearLayer("head", 2 * 784, 10));
  ExpectRefused(Build(backend.get(), std::move(layers)).status(), "head");

  layers.clear();
  layers.push_back(NewReluLayer());
  ExpectRefused(Build(backend.get(), std::move(layers)).status(),
                "no parameters");
}

TEST(SequentialModel, LayersBelowTheFirstParametersAreNotDifferentiated) {
  const std::unique_ptr<Backend> backend = CpuBackendForTest();
  std::vector<std::unique_ptr<Layer>> layers;
  layers.push_back(NewPoolingLayer(PoolingShape()));
  layers.push_back(NewLinearLayer("head", 14 * 14, 10));
  const auto model = Build(backend.get(), std::move(layers));
  ASSERT_TRUE(model.ok()) << model.status();
  const int64_t n = (*model)->num_parameters();
  auto weights = backend->Allocate({n});
  auto gradient = backend->Allocate({n});
  ASSERT_TRUE(weights.ok() && gradient.ok());
  Batch batch;
  batch.inputs.assign(784, 1);
  batch.labels = {3};
  const auto result =
      (*model)->ForwardBackward(batch, *weights, &*gradient, nullptr);
  ASSERT_TRUE(result.ok()) << result.status();
  // All weights are zero, so every class has probability 1/10; the pooled
  // inputs are all 1.
  EXPECT_FLOAT_EQ(gradient->data()[0], 0.1f);
  EXPECT_FLOAT_EQ(gradient->data()[3 * 14 * 14], -0.9f);
}

TEST(SequentialModel, KeepsMemoryForFewShapesOfBatches) {
  ModelFixture fixture("mlp");
  const auto bytes_after = [&](int64_t first, int64_t last) {
    for (int64_t size = first; size <= last; ++size) {
      EXPECT_TRUE(fixture.model()
                      .Evaluate(fixture.RandomBatch(size, 1), fixture.weights())
                      .ok());
    }
    return fixture.model().activation_bytes();
  };
  // The plan for each batch size takes memory in proportion to its examples.
  const int64_t one = bytes_after(1, 1);
  EXPECT_EQ(bytes_after(2, 3), (1 + 2 + 3) * one);
  EXPECT_EQ(bytes_after(4, 9), (7 + 8 + 9) * one);
  // The most recently used plans stay: 8 replaces none, and 1 replaces 7.
  EXPECT_EQ(bytes_after(8, 8), (7 + 8 + 9) * one);
  EXPECT_EQ(bytes_after(1, 1), (9 + 8 + 1) * one);
}

}  // namespace
}  // namespace ps
