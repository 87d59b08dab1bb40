// Convolutions and linear layers with bfloat16, compared with the CPU
// (bf16_layers.h).

#include <cstdint>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/bf16_layers.h"

namespace ps {
namespace {

// For the tests of the other bf16_*_test.cc as well.
INSTANTIATE_TEST_SUITE_P(Backends, Bf16Layers,
                         testing::ValuesIn(Bf16BackendNames()),
                         BackendTestName);

struct ConvolutionCase {
  Shape input;
  int64_t out_channels;
  int64_t kernel;
  int64_t stride;
  int64_t padding;
  int64_t groups;
};

TEST_P(Bf16Layers, Convolution) {
  for (const ConvolutionCase& c :
       {ConvolutionCase{{2, 3, 9, 8}, 5, 3, 1, 1, 1},
        ConvolutionCase{{3, 4, 7, 7}, 6, 3, 2, 1, 2},
        ConvolutionCase{{2, 6, 5, 4}, 7, 1, 1, 0, 1},
        ConvolutionCase{{2, 6, 5, 4}, 4, 1, 1, 0, 2},
        ConvolutionCase{{2, 6, 5, 5}, 4, 1, 2, 0, 1},
        ConvolutionCase{{2, 8, 6, 6}, 8, 5, 1, 2, 8},
        ConvolutionCase{{1, 1, 1, 1}, 1, 1, 1, 0, 1}}) {
    for (const bool bias : {true, false}) {
      for (const bool plain : {true, false}) {
        SCOPED_TRACE(absl::StrCat(ShapeString(c.input), " kernel ", c.kernel,
                                  plain ? " plain" : "", bias ? " bias" : ""));
        ConvolutionShape shape;
        shape.out_channels = c.out_channels;
        shape.kernel_height = shape.kernel_width = c.kernel;
        shape.stride = c.stride;
        shape.padding = c.padding;
        shape.groups = c.groups;
        shape.bias = bias;
        const ActivationDesc of_floats = ActivationDesc::Plain(c.input);
        const ActivationDesc input = plain ? of_floats : Laid(c.input);
        const auto op = nn().PlanConvolution(shape, input);
        ASSERT_TRUE(op.ok()) << op.status();
        EXPECT_NE((*op)->output().layout, nullptr);
        const auto cpu_op = cpu_nn().PlanConvolution(shape, of_floats);
        ASSERT_TRUE(cpu_op.ok()) << cpu_op.status();
        const int64_t weights =
            c.out_channels * c.input[1] / c.groups * c.kernel * c.kernel;
        const int64_t biases = bias ? c.out_channels : 0;
        CheckAffine(RunAffine(nn(), **op, input, weights, biases),
                    RunAffine(cpu_nn(), **cpu_op, of_floats, weights, biases));
      }
    }
  }
}

// The ReLU does not change which value is rounded to which.
TEST_P(Bf16Layers, AReluInAConvolutionGivesTheBitsOfItsOwnOperation) {
  // Packets of eight channels, and single elements.
  for (const int64_t out_channels : {8, 5}) {
    ConvolutionShape shape;
    shape.out_channels = out_channels;
    shape.kernel_height = shape.kernel_width = 3;
    const ActivationDesc input = Laid({3, 4, 9, 7});
    const auto fused = nn().PlanConvolution(shape, input);
    ASSERT_TRUE(fused.ok()) << fused.status();
    ASSERT_TRUE((*fused)->FuseActivation(Activation::kRelu));
    const auto separate = nn().PlanConvolution(shape, input);
    ASSERT_TRUE(separate.ok()) << separate.status();
    const ActivationDesc& output = (*fused)->output();
    const auto relu = nn().PlanActivation(Activation::kRelu, output);
    ASSERT_TRUE(relu.ok()) << relu.status();
    const int64_t n = NumElements(output.shape), weights = out_channels * 36;
    const std::vector<float> x =
        ToLayout(nn(), input, RandomBf16(NumElements(input.shape), 1));
    const std::vector<float> weight = RandomBf16(weights, 2);
    const std::vector<float> bias = RandomValues(out_channels, 3);
    const auto run = [&](AffineOp& op, UnaryOp* then) {
      std::vector<float> y(output.num_floats), dx(input.num_floats);
      std::vector<float> dy = ToLayout(nn(), output, RandomBf16(n, 4));
      Results r;
      r.dweight.resize(weights);
      r.dbias.resize(out_channels);
      absl::Status status =
          op.Forward(x.data(), weight.data(), bias.data(), y.data());
      if (then != nullptr) {
        status.Update(then->Forward(y.data(), y.data()));
        status.Update(then->Backward(nullptr, y.data(), dy.data(), dy.data()));
      } else {
        status.Update(
            op.BackwardActivation(y.data(), dy.data(), r.dbias.data()));
      }
      status.Update(op.Backward(x.data(), weight.data(), dy.data(), dx.data(),
                                r.dweight.data(), r.dbias.data()));
      EXPECT_TRUE(status.ok()) << status;
      r.y = ToPlain(nn(), output, y);
      r.dx = ToPlain(nn(), input, dx);
      return r;
    };
    const Results actual = run(**fused, nullptr);
    const Results expected = run(**separate, relu->get());
    EXPECT_EQ(actual.y, expected.y);
    EXPECT_EQ(actual.dx, expected.dx);
    EXPECT_EQ(actual.dweight, expected.dweight);
    EXPECT_EQ(actual.dbias, expected.dbias);
  }
}

// With one channel or one pixel, both orders are the same.
TEST_P(Bf16Layers, AnInputIsReorderedOnceIfItsOrderChanges) {
  ConvolutionShape shape;
  shape.out_channels = 4;
  shape.kernel_height = shape.kernel_width = 1;
  const auto reorders = [&](const ActivationDesc& input) {
    const auto op = nn().PlanConvolution(shape, input);
    EXPECT_TRUE(op.ok()) << op.status();
    const int64_t before = nn().num_reorders();
    const std::vector<float> x(input.num_floats), weight(4 * input.shape[1]);
    std::vector<float> y((*op)->output().num_floats), dweight(weight);
    std::vector<float> bias(4), dbias(4);
    EXPECT_TRUE(
        (*op)->Forward(x.data(), weight.data(), bias.data(), y.data()).ok());
    EXPECT_TRUE((*op)
                    ->Backward(x.data(), weight.data(), y.data(), nullptr,
                               dweight.data(), dbias.data())
                    .ok());
    return nn().num_reorders() - before;
  };
  EXPECT_EQ(reorders(ActivationDesc::Plain({2, 3, 4, 4})), 1);
  EXPECT_EQ(reorders(ActivationDesc::Plain({2, 1, 4, 4})), 0);
  EXPECT_EQ(reorders(ActivationDesc::Plain({2, 3, 1, 1})), 0);
  EXPECT_EQ(reorders(Laid({2, 3, 4, 4})), 0);
}

TEST_P(Bf16Layers, Linear) {
  for (const Shape& shape : {Shape{5, 7}, Shape{1, 1}, Shape{67, 12}}) {
    for (const bool plain : {true, false}) {
      SCOPED_TRACE(absl::StrCat(ShapeString(shape), plain ? " plain" : ""));
      const ActivationDesc of_floats = ActivationDesc::Plain(shape);
      const ActivationDesc input = plain ? of_floats : Laid(shape);
      const auto op = nn().PlanLinear(9, input);
      ASSERT_TRUE(op.ok()) << op.status();
      const auto cpu_op = cpu_nn().PlanLinear(9, of_floats);
      ASSERT_TRUE(cpu_op.ok()) << cpu_op.status();
      const Results expected =
          RunAffine(cpu_nn(), **cpu_op, of_floats, 9 * shape[1], 9);
      const Results actual = RunAffine(nn(), **op, input, 9 * shape[1], 9);
      ExpectRounded(actual.y, expected.y, 2);
      // Products give floats where a float result is needed.
      ExpectRounded(actual.dx, expected.dx, plain ? 0 : 1);
      ExpectRounded(actual.dweight, expected.dweight, 0);
      ExpectRounded(actual.dbias, expected.dbias, 0);
    }
  }
  // Images must be converted to plain order first, since the weights use that
  // order of features.
  EXPECT_EQ(nn().PlanLinear(3, Laid({2, 3, 4, 5})).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// 256 + 1 is not a bfloat16: if it is rounded before the bias is added, nothing
// is left.
TEST_P(Bf16Layers, AProductIsRoundedOnceIfItsBiasIsFused) {
  const auto op = nn().PlanLinear(1, ActivationDesc::Plain({1, 2}));
  ASSERT_TRUE(op.ok()) << op.status();
  const std::vector<float> x = {256, 1}, weight = {1, 1}, bias = {-256};
  std::vector<float> y((*op)->output().num_floats);
  const absl::Status status =
      (*op)->Forward(x.data(), weight.data(), bias.data(), y.data());
  ASSERT_TRUE(status.ok()) << status;
  const float sum = ToPlain(nn(), (*op)->output(), y)[0];
  if (NeedsDevice(backend_name())) {
    // Whether it is fused is up to the library.
    EXPECT_TRUE(sum == 0 || sum == 1) << sum;
    return;
  }
  const bool is_fused = !absl::StrContains(backend_name(), "unfused");
  EXPECT_EQ(sum, is_fused ? 1 : 0);
}

TEST_P(Bf16Layers, PlainImagesGoIntoALinearLayer) {
  const ActivationDesc input = ActivationDesc::Plain({2, 3, 4, 5});
  const auto op = nn().PlanLinear(4, input);
  ASSERT_TRUE(op.ok()) << op.status();
  const auto cpu_op = cpu_nn().PlanLinear(4, input);
  ASSERT_TRUE(cpu_op.ok()) << cpu_op.status();
  const Results actual = RunAffine(nn(), **op, input, 4 * 60, 4);
  const Results expected = RunAffine(cpu_nn(), **cpu_op, input, 4 * 60, 4);
  ExpectRounded(actual.y, expected.y, 2);
  ExpectRounded(actual.dweight, expected.dweight, 0);
  EXPECT_EQ(nn().num_reorders(), 0);
}

TEST_P(Bf16Layers, SequenceLinear) {
  const ActivationDesc plain = ActivationDesc::Plain({4, 3, 5});
  const auto cpu_op = cpu_->sequences().PlanSequenceLinear(7, plain);
  ASSERT_TRUE(cpu_op.ok()) << cpu_op.status();
  const Results expected = RunAffine(cpu_nn(), **cpu_op, plain, 35, 7);
  for (const ActivationDesc& input : {plain, Laid({4, 3, 5})}) {
    const auto op = bf16_->sequences().PlanSequenceLinear(7, input);
    ASSERT_TRUE(op.ok()) << op.status();
    const Results actual = RunAffine(nn(), **op, input, 35, 7);
    ExpectRounded(actual.y, expected.y, 2);
    ExpectRounded(actual.dx, expected.dx, 1);
    ExpectRounded(actual.dweight, expected.dweight, 0);
    ExpectRounded(actual.dbias, expected.dbias, 0);
  }
}

}  // namespace
}  // namespace ps
