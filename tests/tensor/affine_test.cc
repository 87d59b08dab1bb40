// Convolution and linear layers, compared with their definitions.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/every_backend.h"
#include "tests/tensor/finite_difference.h"
#include "tests/tensor/reference_ops.h"

namespace ps {
namespace {

using AffineErrors = EveryBackend;
INSTANTIATE_TEST_SUITE_P(Backends, AffineErrors,
                         testing::ValuesIn(BackendNames()), BackendTestName);

// For sums of a few hundred products of numbers below 1.
constexpr double kTolerance = 2e-5;
// Difference quotients of an affine function are exact with any step.
constexpr double kStep = 0.5;

// The results of Backward. They start as other values, since Backward must
// overwrite.
struct Gradients {
  Gradients(int64_t x, int64_t weight, int64_t bias)
      : dx(x, kUnwritten),
        dweight(weight, kUnwritten),
        dbias(bias, kUnwritten) {}

  static constexpr float kUnwritten = 1e30f;
  std::vector<float> dx;
  std::vector<float> dweight;
  std::vector<float> dbias;
};

FiniteDifferenceOptions Of(const char* name) {
  FiniteDifferenceOptions options;
  options.name = name;
  options.step = kStep;
  options.tolerance = kTolerance;
  options.max_elements = 60;  // Each takes a whole convolution.
  return options;
}

struct ConvolutionCase {
  Shape input;
  ConvolutionShape shape;
  bool plain_input = true;
};

ConvolutionCase Case(Shape input, int64_t out_channels, int64_t kernel_height,
                     int64_t kernel_width, int64_t stride, int64_t padding,
                     bool plain_input) {
  ConvolutionCase c;
  c.input = std::move(input);
  c.shape.out_channels = out_channels;
  c.shape.kernel_height = kernel_height;
  c.shape.kernel_width = kernel_width;
  c.shape.stride = stride;
  c.shape.padding = padding;
  c.plain_input = plain_input;
  return c;
}

ConvolutionCase Grouped(ConvolutionCase c, int64_t groups) {
  c.shape.groups = groups;
  return c;
}

ConvolutionCase WithoutBias(ConvolutionCase c) {
  c.shape.bias = false;
  return c;
}

using Convolution = EveryBackendAndCase<ConvolutionCase>;

TEST_P(Convolution, EqualsItsDefinitionForwardAndBackward) {
  const ConvolutionCase& c = GetCase();
  const std::unique_ptr<Backend> backend = NewBackend();
  NnKernels& nn = backend->nn();
  const ActivationDesc input = c.plain_input ? ActivationDesc::Plain(c.input)
                                             : ConvolutionLayout(nn, c.input);
  const auto op = nn.PlanConvolution(c.shape, input);
  ASSERT_TRUE(op.ok()) << op.status();
  const ActivationDesc& output = (*op)->output();

  const std::vector<float> x = RandomValues(NumElements(c.input), 1);
  const std::vector<float> weight =
      RandomValues(c.shape.out_channels * c.input[1] / c.shape.groups *
                       c.shape.kernel_height * c.shape.kernel_width,
                   2);
  const std::vector<float> bias =
      RandomValues(c.shape.bias ? c.shape.out_channels : 0, 3);
  const std::vector<float> dy = RandomValues(NumElements(output.shape), 4);
  const auto reference = [&](const std::vector<double>& x,
                             const std::vector<double>& weight,
                             const std::vector<double>& bias) {
    return ReferenceConvolution(c.shape, {c.input, x}, weight, bias);
  };
  const std::vector<double> x0(x.begin(), x.end());
  const std::vector<double> weight0(weight.begin(), weight.end());
  const std::vector<double> bias0(bias.begin(), bias.end());

  const std::vector<float> laid_out_x = ToLayout(nn, input, x);
  std::vector<float> y(output.num_floats);
  ASSERT_TRUE(
      (*op)
          ->Forward(laid_out_x.data(), weight.data(), bias.data(), y.data())
          .ok());
  const ReferenceTensor expected = reference(x0, weight0, bias0);
  EXPECT_EQ(output.shape, expected.shape);
  ExpectClose(ToPlain(nn, output, y), expected.values, kTolerance);

  Gradients g(input.num_floats, weight.size(), bias.size());
  const std::vector<float> laid_out_dy = ToLayout(nn, output, dy);
  ASSERT_TRUE((*op)
                  ->Backward(laid_out_x.data(), weight.data(),
                             laid_out_dy.data(), g.dx.data(), g.dweight.data(),
                             g.dbias.data())
                  .ok());
  ExpectGradient(
      Of("x"),
      [&](const std::vector<double>& v) {
        return Dot(dy, reference(v, weight0, bias0).values);
      },
      x, ToPlain(nn, input, g.dx));
  ExpectGradient(
      Of("weight"),
      [&](const std::vector<double>& v) {
        return Dot(dy, reference(x0, v, bias0).values);
      },
      weight, g.dweight);
  if (c.shape.bias) {
    ExpectGradient(
        Of("bias"),
        [&](const std::vector<double>& v) {
          return Dot(dy, reference(x0, weight0, v).values);
        },
        bias, g.dbias);
  }

  // Without dx, the other results stay the same.
  Gradients first_layer(0, weight.size(), bias.size());
  ASSERT_TRUE((*op)
                  ->Backward(laid_out_x.data(), weight.data(),
                             laid_out_dy.data(), nullptr,
                             first_layer.dweight.data(),
                             first_layer.dbias.data())
                  .ok());
  EXPECT_EQ(first_layer.dweight, g.dweight);
  EXPECT_EQ(first_layer.dbias, g.dbias);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Convolution,
    testing::Combine(
        testing::ValuesIn(BackendNames()),
        testing::Values(
            // Input; output channels, kernel, stride, padding; whether the
            // input is plain.
            Case({1, 1, 28, 28}, 6, 5, 5, 1, 2, true),
            Case({5, 1, 7, 9}, 6, 3, 3, 1, 0, true),
            Case({2, 6, 14, 14}, 16, 5, 5, 1, 0, false),
            Case({2, 6, 14, 14}, 16, 5, 5, 1, 0, true),
            Case({5, 3, 11, 8}, 4, 3, 3, 2, 1, true),
            Case({1, 3, 9, 9}, 8, 3, 5, 2, 2, false),
            Case({5, 16, 8, 8}, 32, 3, 3, 2, 1, false),
            Case({1, 2, 5, 5}, 1, 5, 5, 1, 0, true),
            Case({3, 1, 1, 1}, 1, 1, 1, 1, 0, true),
            Case({2, 5, 4, 4}, 7, 1, 1, 3, 0, false),
            // Blocked layouts: from few channels, between blocked ones, and
            // where some of the passes have none.
            Case({2, 3, 9, 9}, 16, 3, 3, 1, 1, true),
            WithoutBias(Case({2, 16, 9, 7}, 16, 3, 3, 1, 1, false)),
            WithoutBias(Case({2, 16, 9, 7}, 24, 3, 3, 2, 1, false)),
            Case({2, 32, 6, 6}, 8, 1, 1, 1, 0, false),
            Case({1, 64, 2, 2}, 64, 3, 3, 1, 1, false),
            Case({2, 64, 1, 1}, 32, 3, 3, 1, 1, false),
            Case({2, 16, 5, 5}, 6, 3, 3, 1, 1, false),
            Case({2, 16, 6, 6}, 8, 3, 3, 1, 1, true),
            Case({1, 3, 25, 25}, 16, 11, 11, 4, 2, true),
            // Groups, down to one channel each.
            Grouped(Case({2, 16, 6, 6}, 32, 3, 3, 1, 1, false), 2),
            Grouped(Case({2, 6, 6, 6}, 9, 3, 3, 2, 1, false), 3),
            Grouped(WithoutBias(Case({2, 8, 6, 6}, 8, 3, 3, 1, 1, false)), 8),
            Grouped(Case({2, 5, 6, 6}, 5, 3, 3, 1, 1, true), 5),
            Grouped(Case({2, 5, 6, 6}, 10, 3, 3, 1, 1, true), 5))),
    [](const testing::TestParamInfo<Convolution::ParamType>& info) {
      const ConvolutionCase& c = std::get<1>(info.param);
      return absl::StrCat(
          std::get<0>(info.param), "_", absl::StrJoin(c.input, "x"), "_out",
          c.shape.out_channels, "_kernel", c.shape.kernel_height, "x",
          c.shape.kernel_width, "_stride", c.shape.stride, "_padding",
          c.shape.padding, "_groups", c.shape.groups,
          c.shape.bias ? "" : "_nobias", c.plain_input ? "_plain" : "");
    });

using Linear = EveryBackendAndCase<std::pair<Shape, int64_t>>;

TEST_P(Linear, EqualsItsDefinitionForwardAndBackward) {
  const Shape& shape = GetCase().first;
  const int64_t out = GetCase().second;
  const int64_t in = NumElements(shape) / shape[0];
  const std::unique_ptr<Backend> backend = NewBackend();
  const auto op = backend->nn().PlanLinear(out, ActivationDesc::Plain(shape));
  ASSERT_TRUE(op.ok()) << op.status();
  EXPECT_EQ((*op)->output().shape, (Shape{shape[0], out}));
  EXPECT_EQ((*op)->output().layout, nullptr);

  const std::vector<float> x = RandomValues(NumElements(shape), 1);
  const std::vector<float> weight = RandomValues(out * in, 2);
  const std::vector<float> bias = RandomValues(out, 3);
  const std::vector<float> dy = RandomValues(shape[0] * out, 4);
  const std::vector<double> x0(x.begin(), x.end());
  const std::vector<double> weight0(weight.begin(), weight.end());
  const std::vector<double> bias0(bias.begin(), bias.end());

  std::vector<float> y(shape[0] * out);
  ASSERT_TRUE(
      (*op)->Forward(x.data(), weight.data(), bias.data(), y.data()).ok());
  ExpectClose(y, ReferenceLinear({shape, x0}, weight0, bias0).values,
              kTolerance);

  Gradients g(x.size(), weight.size(), bias.size());
  ASSERT_TRUE((*op)
                  ->Backward(x.data(), weight.data(), dy.data(), g.dx.data(),
                             g.dweight.data(), g.dbias.data())
                  .ok());
  ExpectGradient(
      Of("x"),
      [&](const std::vector<double>& v) {
        return Dot(dy, ReferenceLinear({shape, v}, weight0, bias0).values);
      },
      x, g.dx);
  ExpectGradient(
      Of("weight"),
      [&](const std::vector<double>& v) {
        return Dot(dy, ReferenceLinear({shape, x0}, v, bias0).values);
      },
      weight, g.dweight);
  ExpectGradient(
      Of("bias"),
      [&](const std::vector<double>& v) {
        return Dot(dy, ReferenceLinear({shape, x0}, weight0, v).values);
      },
      bias, g.dbias);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Linear,
    testing::Combine(
        testing::ValuesIn(BackendNames()),
        testing::Values(std::make_pair(Shape{1, 1}, 1),
                        std::make_pair(Shape{5, 7}, 3),
                        std::make_pair(Shape{1, 400}, 120),
                        std::make_pair(Shape{5, 3, 4, 5}, 10),
                        std::make_pair(Shape{2, 65}, 33),
                        // Several parts of rows, whose sums a device adds up.
                        std::make_pair(Shape{64, 3}, 2),
                        std::make_pair(Shape{65, 2}, 3),
                        std::make_pair(Shape{131, 3}, 4))),
    [](const testing::TestParamInfo<Linear::ParamType>& info) {
      const auto& c = std::get<1>(info.param);
      return absl::StrCat(std::get<0>(info.param), "_",
                          absl::StrJoin(c.first, "x"), "_to_", c.second);
    });

// The same numbers with the activation function in the convolution or the
// linear layer, and in an operation of its own.
using FusedActivation = EveryBackendAndCase<std::pair<Activation, Shape>>;

TEST_P(FusedActivation, EqualsTheOperationThatFollows) {
  const Activation function = GetCase().first;
  const Shape& input_shape = GetCase().second;
  const std::unique_ptr<Backend> backend = NewBackend();
  NnKernels& nn = backend->nn();
  const ActivationDesc input = ActivationDesc::Plain(input_shape);
  const bool is_linear = input_shape.size() == 2;
  const auto plan = [&] {
    ConvolutionShape shape;
    shape.out_channels = 8;
    shape.kernel_height = shape.kernel_width = 3;
    return is_linear ? nn.PlanLinear(8, input)
                     : nn.PlanConvolution(shape, input);
  };
  const auto fused = plan();
  ASSERT_TRUE(fused.ok()) << fused.status();
  std::vector<float> none(1);
  EXPECT_EQ((*fused)
                ->BackwardActivation(none.data(), none.data(), none.data())
                .code(),
            absl::StatusCode::kFailedPrecondition);
  if (!(*fused)->FuseActivation(function)) {
    EXPECT_EQ(backend_name(), "cpu");  // It saves no pass.
    return;
  }
  const auto separate = plan();
  ASSERT_TRUE(separate.ok()) << separate.status();
  const ActivationDesc& output = (*fused)->output();
  const auto activation = nn.PlanActivation(function, output);
  ASSERT_TRUE(activation.ok()) << activation.status();

  const int64_t num_weights = 8 * input_shape[1] * (is_linear ? 1 : 9);
  const std::vector<float> x = RandomValues(input.num_floats, 1);
  const std::vector<float> weight = RandomValues(num_weights, 2);
  const std::vector<float> bias = RandomValues(8, 3);
  const std::vector<float> dy = RandomValues(output.num_floats, 4);
  const auto run = [&](AffineOp& op, UnaryOp* then, std::vector<float>* y) {
    Gradients g(input.num_floats, num_weights, 8);
    *y = dy;
    std::vector<float> gradient = dy;
    absl::Status status =
        op.Forward(x.data(), weight.data(), bias.data(), y->data());
    if (then != nullptr) {
      status.Update(then->Forward(y->data(), y->data()));
      status.Update(
          then->Backward(nullptr, y->data(), gradient.data(), gradient.data()));
    } else {
      status.Update(
          op.BackwardActivation(y->data(), gradient.data(), g.dbias.data()));
    }
    status.Update(op.Backward(x.data(), weight.data(), gradient.data(),
                              g.dx.data(), g.dweight.data(), g.dbias.data()));
    EXPECT_TRUE(status.ok()) << status;
    return g;
  };
  std::vector<float> y, expected_y;
  const Gradients actual = run(**fused, nullptr, &y);
  const Gradients expected = run(**separate, activation->get(), &expected_y);
  EXPECT_EQ(y, expected_y);
  EXPECT_EQ(actual.dx, expected.dx);
  EXPECT_EQ(actual.dweight, expected.dweight);
  EXPECT_EQ(actual.dbias, expected.dbias);
}

INSTANTIATE_TEST_SUITE_P(
    Functions, FusedActivation,
    testing::Combine(
        testing::ValuesIn(BackendNames()),
        testing::Values(std::make_pair(Activation::kRelu, Shape{3, 2, 6, 6}),
                        std::make_pair(Activation::kRelu, Shape{2, 3, 9, 7}),
                        std::make_pair(Activation::kTanh, Shape{2, 1, 5, 5}),
                        std::make_pair(Activation::kRelu, Shape{5, 7}),
                        std::make_pair(Activation::kTanh, Shape{130, 3}),
                        std::make_pair(Activation::kSigmoid,
                                       Shape{3, 2, 6, 6}))),
    [](const testing::TestParamInfo<FusedActivation::ParamType>& info) {
      return absl::StrCat(std::get<0>(info.param), "_", info.index);
    });

TEST_P(AffineErrors, ShapesThatDoNotFitAreNamed) {
  const std::unique_ptr<Backend> backend = NewBackend();
  NnKernels& nn = backend->nn();
  ConvolutionShape five_by_five;
  five_by_five.out_channels = 6;
  five_by_five.kernel_height = 5;
  five_by_five.kernel_width = 5;
  const auto expect_refused = [](const absl::Status& status,
                                 const std::string& shape) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), shape)) << status;
  };

  expect_refused(
      nn.PlanConvolution(five_by_five, ActivationDesc::Plain({2, 1, 4, 9}))
          .status(),
      "[2, 1, 4, 9]");
  expect_refused(
      nn.PlanConvolution(five_by_five, ActivationDesc::Plain({2, 81})).status(),
      "[2, 81]");
  expect_refused(
      nn.PlanConvolution(five_by_five, ActivationDesc::Plain({0, 1, 9, 9}))
          .status(),
      "[0, 1, 9, 9]");
  ConvolutionShape no_stride = five_by_five;
  no_stride.stride = 0;
  expect_refused(
      nn.PlanConvolution(no_stride, ActivationDesc::Plain({2, 1, 9, 9}))
          .status(),
      "stride 0");
  expect_refused(nn.PlanLinear(3, ActivationDesc::Plain({7})).status(), "[7]");
  expect_refused(nn.PlanLinear(0, ActivationDesc::Plain({2, 7})).status(),
                 "[2, 7]");
  const ActivationDesc images = ConvolutionLayout(nn, {2, 3, 4, 5});
  // Some backends have only plain layouts.
  if (images.layout != nullptr) {
    expect_refused(nn.PlanLinear(3, images).status(), "[2, 3, 4, 5]");
  }
}

TEST_P(AffineErrors, LayoutOfAnotherBackendIsRefused) {
  class ForeignLayout final : public ActivationLayout {};
  const std::unique_ptr<Backend> backend = NewBackend();
  ActivationDesc foreign = ActivationDesc::Plain({2, 3, 4, 5});
  foreign.layout = std::make_shared<ForeignLayout>();
  EXPECT_EQ(
      backend->nn().PlanActivation(Activation::kRelu, foreign).status().code(),
      absl::StatusCode::kInvalidArgument);
}

// The number of threads decides in which order the gradient of the weights is
// added up, and so its last bits.
std::vector<float> WeightGradient(Backend* backend) {
  ConvolutionShape shape;
  shape.out_channels = 16;
  shape.kernel_height = 3;
  shape.kernel_width = 3;
  const Shape input = {8, 3, 20, 20};
  const std::vector<float> x = RandomValues(NumElements(input), 1);
  const std::vector<float> weight = RandomValues(16 * 3 * 9, 2);
  const std::vector<float> bias = RandomValues(16, 3);
  const auto op =
      backend->nn().PlanConvolution(shape, ActivationDesc::Plain(input));
  EXPECT_TRUE(op.ok()) << op.status();
  if (!op.ok()) return {};
  std::vector<float> y((*op)->output().num_floats);
  const std::vector<float> dy = RandomValues(static_cast<int64_t>(y.size()), 4);
  std::vector<float> dweight(weight.size());
  std::vector<float> dbias(bias.size());
  EXPECT_TRUE(
      (*op)->Forward(x.data(), weight.data(), bias.data(), y.data()).ok());
  EXPECT_TRUE((*op)
                  ->Backward(x.data(), weight.data(), dy.data(), nullptr,
                             dweight.data(), dbias.data())
                  .ok());
  return dweight;
}

TEST(AffineThreads, UseThreadsGivesTheBitsOfABackendWithThisNumber) {
  const std::vector<int> numbers = {1, 2, 3, 4};
  std::vector<std::vector<float>> with;
  for (const int number : numbers) {
    with.push_back(WeightGradient(CpuBackendForTest(number).get()));
  }
  // Each is a sum of 2,592 products.
  ExpectClose(with[1], std::vector<double>(with[0].begin(), with[0].end()),
              1e-3);
  // Which numbers give other bits depends on the processor.
  bool shows = false;
  for (const int first : numbers) {
    for (const int number : numbers) {
      shows |= with[first - 1] != with[number - 1];
      const std::unique_ptr<Backend> backend = CpuBackendForTest(first);
      backend->UseThreads(number);
      EXPECT_EQ(WeightGradient(backend.get()), with[number - 1])
          << first << ", then " << number;
    }
  }
  EXPECT_TRUE(shows) << "this gradient shows nothing";
}

}  // namespace
}  // namespace ps
