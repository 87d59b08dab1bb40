// Compares a residual block, made of convolutions, batch normalisation and each
// kind of shortcut, with the combined definitions of its operations.

#include "models/layers/residual_block.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "models/layers/batch_norm.h"
#include "models/layers/convolution.h"
#include "models/layers/layer.h"
#include "models/layers/unary_layers.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/finite_difference.h"
#include "tests/tensor/reference_ops.h"

namespace ps {
namespace {

enum class Shortcut { kIdentity, kSubsampling, kProjection };

struct BlockCase {
  std::string name;
  Shortcut shortcut = Shortcut::kIdentity;
  int64_t in_channels = 8;
  int64_t channels = 8;
  int64_t stride = 1;
};

SubsamplingShape Subsampling(const BlockCase& c) {
  SubsamplingShape shape;
  shape.stride = c.stride;
  shape.out_channels = c.channels;
  return shape;
}

std::unique_ptr<Layer> Block(const BlockCase& c) {
  ResidualBlockParts parts;
  parts.main.push_back(NewConvolutionLayer(
      "conv1", c.in_channels, SquareKernel(c.channels, 3, c.stride)));
  parts.main.push_back(NewBatchNormLayer("bn1", c.channels, AfterNorm::kRelu));
  parts.main.push_back(
      NewConvolutionLayer("conv2", c.channels, SquareKernel(c.channels, 3)));
  parts.norm.name = "bn2";
  parts.norm.channels = c.channels;
  if (c.shortcut == Shortcut::kSubsampling) {
    parts.shortcut.push_back(NewSubsamplingLayer(Subsampling(c)));
  }
  if (c.shortcut == Shortcut::kProjection) {
    parts.shortcut.push_back(NewConvolutionLayer(
        "downsample.0", c.in_channels, SquareKernel(c.channels, 1, c.stride)));
    parts.shortcut.push_back(
        NewBatchNormLayer("downsample.1", c.channels, AfterNorm::kNothing));
  }
  return NewResidualBlock(std::move(parts));
}

// A second implementation of the block. `weights` is in the order conv1, bn1,
// conv2, bn2, projection.
ReferenceTensor ReferenceBlock(const BlockCase& c, const ReferenceTensor& x,
                               const std::vector<double>& weights) {
  auto next = weights.begin();
  const auto take = [&](int64_t n) {
    next += n;
    return std::vector<double>(next - n, next);
  };
  const auto convolve = [&](const ReferenceTensor& x, int64_t kernel,
                            int64_t stride) {
    return ReferenceConvolution(SquareKernel(c.channels, kernel, stride), x,
                                take(c.channels * x.shape[1] * kernel * kernel),
                                {});
  };
  const auto norm = [&](const ReferenceTensor& x) {
    ReferenceBatchNormArguments arguments;
    arguments.weight = take(c.channels);
    arguments.bias = take(c.channels);
    return ReferenceBatchNorm(arguments, x);
  };
  ReferenceTensor y = ReferenceRelu(norm(convolve(x, 3, c.stride)));
  y = norm(convolve(y, 3, 1));
  ReferenceTensor shortcut = x;
  if (c.shortcut == Shortcut::kSubsampling) {
    shortcut = ReferenceSubsampling(Subsampling(c), x);
  }
  if (c.shortcut == Shortcut::kProjection) {
    shortcut = norm(convolve(x, 1, c.stride));
  }
  EXPECT_EQ(next, weights.end());
  for (size_t i = 0; i < y.values.size(); ++i) {
    y.values[i] += shortcut.values[i];
  }
  return ReferenceRelu(y);
}

FiniteDifferenceOptions Of(const char* name) {
  FiniteDifferenceOptions options;
  options.name = name;
  options.step = 1e-5;
  options.tolerance = 3e-4;
  options.max_elements = 50;
  return options;
}

class ResidualBlock : public testing::TestWithParam<BlockCase> {};

TEST_P(ResidualBlock, EqualsItsDefinitionForwardAndBackward) {
  const BlockCase& c = GetParam();
  const Shape shape = {2, c.in_channels, 5, 6};
  const std::unique_ptr<Backend> backend = CpuBackendForTest();
  NnKernels& nn = backend->nn();
  const ActivationDesc input = ConvolutionLayout(nn, shape);
  const std::unique_ptr<Layer> layer = Block(c);
  int64_t num_weights = 0, num_statistics = 0;
  for (const LayerParameter& p : layer->parameters()) {
    num_weights += NumElements(p.shape);
  }
  for (const LayerStatistic& s : layer->statistics()) {
    num_statistics += NumElements(s.shape);
  }

  ScratchPool scratch;
  LayerTimes times;
  int64_t activation_bytes = 0;
  PlanContext context;
  context.backend = backend.get();
  context.scratch = &scratch;
  context.training = true;
  context.activation_bytes = &activation_bytes;
  context.times = &times;
  const auto block = layer->Plan(context, input);
  ASSERT_TRUE(block.ok()) << block.status();
  ASSERT_TRUE(scratch.Allocate(backend.get()).ok());
  const ActivationDesc& output = (*block)->output();

  const std::vector<float> x = RandomValues(NumElements(shape), 1);
  const std::vector<float> weights = RandomValues(num_weights, 2);
  const std::vector<float> dy = RandomValues(NumElements(output.shape), 3);
  std::vector<float> statistics(num_statistics);
  const std::vector<float> laid_out_x = ToLayout(nn, input, x);
  std::vector<float> y(output.num_floats);
  PlannedLayer::ForwardArguments forward;
  forward.x = laid_out_x.data();
  forward.weights = weights.data();
  forward.statistics = statistics.data();
  forward.y = y.data();
  ASSERT_TRUE((*block)->Forward(forward).ok());
  const std::vector<double> x0(x.begin(), x.end());
  const std::vector<double> weights0(weights.begin(), weights.end());
  const ReferenceTensor expected = ReferenceBlock(c, {shape, x0}, weights0);
  EXPECT_EQ(output.shape, expected.shape);
  ExpectClose(ToPlain(nn, output, y), expected.values, 1e-4);
  // Every statistic was written, since no mean of random numbers is 0.
  for (size_t i = 0; i < statistics.size(); ++i) {
    EXPECT_NE(statistics[i], 0) << "statistic " << i;
  }

  constexpr float kUnwritten = 1e30f;
  std::vector<float> laid_out_dy = ToLayout(nn, output, dy);
  std::vector<float> dx(input.num_floats, kUnwritten);
  std::vector<float> gradient(num_weights, kUnwritten);
  PlannedLayer::BackwardArguments backward;
  backward.x = laid_out_x.data();
  backward.y = y.data();
  backward.dy = laid_out_dy.data();
  backward.weights = weights.data();
  backward.dx = dx.data();
  backward.gradient = gradient.data();
  ASSERT_TRUE((*block)->Backward(backward).ok());
  ExpectGradient(
      Of("x"),
      [&](const std::vector<double>& v) {
        return Dot(dy, ReferenceBlock(c, {shape, v}, weights0).values);
      },
      x, ToPlain(nn, input, dx));
  ExpectGradient(
      Of("weights"),
      [&](const std::vector<double>& v) {
        return Dot(dy, ReferenceBlock(c, {shape, x0}, v).values);
      },
      weights, gradient);

  // As the lowest layer, without dx, it must compute the same gradient.
  laid_out_dy = ToLayout(nn, output, dy);
  std::vector<float> lowest_gradient(num_weights, kUnwritten);
  backward.dy = laid_out_dy.data();
  backward.dx = nullptr;
  backward.gradient = lowest_gradient.data();
  ASSERT_TRUE((*block)->Backward(backward).ok());
  EXPECT_EQ(lowest_gradient, gradient);
}

INSTANTIATE_TEST_SUITE_P(
    Shortcuts, ResidualBlock,
    testing::Values(
        BlockCase{"identity"},
        BlockCase{"identity_six_channels", Shortcut::kIdentity, 6, 6, 1},
        BlockCase{"subsampling", Shortcut::kSubsampling, 8, 16, 2},
        BlockCase{"projection", Shortcut::kProjection, 8, 16, 2},
        BlockCase{"projection_same_size", Shortcut::kProjection, 8, 24, 1}),
    [](const testing::TestParamInfo<BlockCase>& info) {
      return info.param.name;
    });

TEST(ResidualBlock, NamesGoMainNormShortcut) {
  BlockCase c;
  c.shortcut = Shortcut::kProjection;
  const std::unique_ptr<Layer> layer = Block(c);
  std::vector<std::string> names;
  for (const LayerParameter& p : layer->parameters()) names.push_back(p.name);
  EXPECT_EQ(names, (std::vector<std::string>{
                       "conv1.weight", "bn1.weight", "bn1.bias", "conv2.weight",
                       "bn2.weight", "bn2.bias", "downsample.0.weight",
                       "downsample.1.weight", "downsample.1.bias"}));
  names.clear();
  for (const LayerStatistic& s : layer->statistics()) names.push_back(s.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"bn1.running_mean", "bn1.running_var",
                                      "bn2.running_mean", "bn2.running_var",
                                      "downsample.1.running_mean",
                                      "downsample.1.running_var"}));
}

TEST(ResidualBlock, WaysThatEndInDifferentShapesAreRefused) {
  const std::unique_ptr<Backend> backend = CpuBackendForTest();
  BlockCase c;
  c.channels = 16;  // The identity has only 8.
  ScratchPool scratch;
  LayerTimes times;
  int64_t activation_bytes = 0;
  PlanContext context;
  context.backend = backend.get();
  context.scratch = &scratch;
  context.training = true;
  context.activation_bytes = &activation_bytes;
  context.times = &times;
  const absl::Status status =
      Block(c)
          ->Plan(context, ConvolutionLayout(backend->nn(), {2, 8, 5, 5}))
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "bn2")) << status;
}

}  // namespace
}  // namespace ps
