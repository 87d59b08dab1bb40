// Pooling, ReLU and reorders, compared with their definitions.

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
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

using MaxPooling = EveryBackend;
INSTANTIATE_TEST_SUITE_P(Backends, MaxPooling,
                         testing::ValuesIn(BackendNames()), BackendTestName);

using Relu = EveryBackend;
INSTANTIATE_TEST_SUITE_P(Backends, Relu, testing::ValuesIn(BackendNames()),
                         BackendTestName);

using Activations = EveryBackend;
INSTANTIATE_TEST_SUITE_P(Backends, Activations,
                         testing::ValuesIn(BackendNames()), BackendTestName);

using GlobalPooling = EveryBackend;
INSTANTIATE_TEST_SUITE_P(Backends, GlobalPooling,
                         testing::ValuesIn(BackendNames()), BackendTestName);

using AdaptivePooling = EveryBackend;
INSTANTIATE_TEST_SUITE_P(Backends, AdaptivePooling,
                         testing::ValuesIn(BackendNames()), BackendTestName);

using Subsampling = EveryBackend;
INSTANTIATE_TEST_SUITE_P(Backends, Subsampling,
                         testing::ValuesIn(BackendNames()), BackendTestName);

using Reorder = EveryBackend;
INSTANTIATE_TEST_SUITE_P(Backends, Reorder, testing::ValuesIn(BackendNames()),
                         BackendTestName);

using Sums = EveryBackend;
INSTANTIATE_TEST_SUITE_P(Backends, Sums, testing::ValuesIn(BackendNames()),
                         BackendTestName);

using UnaryErrors = EveryBackend;
INSTANTIATE_TEST_SUITE_P(Backends, UnaryErrors,
                         testing::ValuesIn(BackendNames()), BackendTestName);

constexpr double kTolerance = 1e-5;

// Less than half the distance between separated values.
constexpr double kStep = 0.01;
// For functions that are curved everywhere.
constexpr double kSmallStep = 1e-3;

FiniteDifferenceOptions OfInput(double step) {
  FiniteDifferenceOptions options;
  options.name = "x";
  options.step = step;
  options.tolerance = kTolerance;
  return options;
}

// Expects forward and backward of `op` on `x` to equal the reference's.
void ExpectEqualsReference(
    NnKernels& nn, UnaryOp& op, const ActivationDesc& input,
    const std::vector<float>& x,
    const std::function<ReferenceTensor(const ReferenceTensor&)>& reference,
    double step = kStep) {
  const ActivationDesc& output = op.output();
  const std::vector<float> laid_out_x = ToLayout(nn, input, x);
  std::vector<float> y(output.num_floats);
  ASSERT_TRUE(op.Forward(laid_out_x.data(), y.data()).ok());
  const ReferenceTensor expected = reference(ToReference(input.shape, x));
  EXPECT_EQ(output.shape, expected.shape);
  ExpectClose(ToPlain(nn, output, y), expected.values, kTolerance);

  const std::vector<float> dy = RandomValues(NumElements(output.shape), 7);
  const std::vector<float> laid_out_dy = ToLayout(nn, output, dy);
  constexpr float kUnwritten = 1e30f;
  std::vector<float> dx(input.num_floats, kUnwritten);
  ASSERT_TRUE(
      op.Backward(laid_out_x.data(), y.data(), laid_out_dy.data(), dx.data())
          .ok());
  ExpectGradient(
      OfInput(step),
      [&](const std::vector<double>& v) {
        return Dot(dy, reference({input.shape, v}).values);
      },
      x, ToPlain(nn, input, dx));
}

struct PoolingCase {
  Shape input;
  int64_t window;
  int64_t stride;
  int64_t padding = 0;
};

using Pooling = EveryBackendAndCase<PoolingCase>;

TEST_P(Pooling, EqualsItsDefinitionInEveryLayout) {
  const PoolingCase& c = GetCase();
  const std::unique_ptr<Backend> backend = NewBackend();
  NnKernels& nn = backend->nn();
  const std::vector<float> x = SeparatedValues(NumElements(c.input), 1);
  for (const auto kind :
       {PoolingShape::Kind::kMax, PoolingShape::Kind::kAverage}) {
    PoolingShape shape;
    shape.kind = kind;
    shape.window = c.window;
    shape.stride = c.stride;
    shape.padding = c.padding;
    for (const ActivationDesc& input :
         {ActivationDesc::Plain(c.input), ConvolutionLayout(nn, c.input)}) {
      const auto op = nn.PlanPooling(shape, input);
      ASSERT_TRUE(op.ok()) << op.status();
      ExpectEqualsReference(nn, **op, input, x, [&](const ReferenceTensor& x) {
        return ReferencePooling(shape, x);
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Pooling,
    testing::Combine(testing::ValuesIn(BackendNames()),
                     testing::Values(PoolingCase{{1, 1, 2, 2}, 2, 2},
                                     PoolingCase{{5, 6, 8, 8}, 2, 2},
                                     PoolingCase{{5, 3, 7, 5}, 2, 2},
                                     PoolingCase{{2, 16, 7, 7}, 3, 2},
                                     PoolingCase{{1, 3, 6, 9}, 3, 1},
                                     PoolingCase{{2, 8, 4, 4}, 4, 1},
                                     PoolingCase{{2, 16, 8, 8}, 2, 2},
                                     PoolingCase{{2, 16, 7, 9}, 3, 2, 1},
                                     PoolingCase{{2, 5, 8, 8}, 3, 2, 1},
                                     PoolingCase{{2, 8, 1, 1}, 2, 1, 1},
                                     PoolingCase{{1, 12, 1, 1}, 2, 1, 1})),
    [](const testing::TestParamInfo<Pooling::ParamType>& info) {
      const PoolingCase& c = std::get<1>(info.param);
      return absl::StrCat(std::get<0>(info.param), "_",
                          absl::StrJoin(c.input, "x"), "_window", c.window,
                          "_stride", c.stride, "_padding", c.padding);
    });

TEST_P(MaxPooling, GivesAllOfTheGradientToTheFirstOfEqualMaxima) {
  const std::unique_ptr<Backend> backend = NewBackend();
  const auto op = backend->nn().PlanPooling(
      PoolingShape(), ActivationDesc::Plain({1, 1, 2, 2}));
  ASSERT_TRUE(op.ok()) << op.status();
  const std::vector<float> x = {0, 3, 3, 3};
  float y = 0;
  ASSERT_TRUE((*op)->Forward(x.data(), &y).ok());
  const float dy = 2;
  std::vector<float> dx(4);
  ASSERT_TRUE((*op)->Backward(x.data(), &y, &dy, dx.data()).ok());
  EXPECT_EQ(dx, (std::vector<float>{0, 2, 0, 0}));
}

TEST_P(MaxPooling, DoesNotHideANan) {
  const std::unique_ptr<Backend> backend = NewBackend();
  const auto op = backend->nn().PlanPooling(
      PoolingShape(), ActivationDesc::Plain({1, 1, 2, 2}));
  ASSERT_TRUE(op.ok()) << op.status();
  for (int position = 0; position < 4; ++position) {
    std::vector<float> x = {1, 2, 3, 4};
    x[position] = std::numeric_limits<float>::quiet_NaN();
    float y = 0;
    ASSERT_TRUE((*op)->Forward(x.data(), &y).ok());
    EXPECT_TRUE(std::isnan(y)) << "NaN at " << position;
  }
}

TEST(PoolingThreads, TwoThreadsGiveTheSameBits) {
  PoolingShape overlapping;
  overlapping.window = 3;
  overlapping.stride = 1;
  const Shape shape = {9, 3, 8, 8};
  const std::vector<float> x = RandomValues(NumElements(shape), 1);
  const std::vector<float> dy = RandomValues(9 * 3 * 6 * 6, 2);
  std::vector<std::vector<float>> results;
  for (const int num_threads : {1, 2}) {
    const std::unique_ptr<Backend> backend = CpuBackendForTest(num_threads);
    const auto op =
        backend->nn().PlanPooling(overlapping, ActivationDesc::Plain(shape));
    ASSERT_TRUE(op.ok()) << op.status();
    std::vector<float> y(dy.size());
    std::vector<float> dx(x.size());
    ASSERT_TRUE((*op)->Forward(x.data(), y.data()).ok());
    ASSERT_TRUE((*op)->Backward(x.data(), y.data(), dy.data(), dx.data()).ok());
    results.push_back(y);
    results.push_back(dx);
  }
  EXPECT_EQ(results[0], results[2]);
  EXPECT_EQ(results[1], results[3]);
}

TEST_P(Relu, EqualsItsDefinitionInEveryLayout) {
  const std::unique_ptr<Backend> backend = NewBackend();
  NnKernels& nn = backend->nn();
  for (const ActivationDesc& input :
       {ActivationDesc::Plain({5, 33}), ActivationDesc::Plain({1, 1}),
        ActivationDesc::Plain({1, 255}), ActivationDesc::Plain({1, 256}),
        ActivationDesc::Plain({1, 257}), ActivationDesc::Plain({5, 3, 5, 7}),
        ConvolutionLayout(nn, {5, 6, 3, 3})}) {
    const auto op = nn.PlanActivation(Activation::kRelu, input);
    ASSERT_TRUE(op.ok()) << op.status();
    ExpectEqualsReference(nn, **op, input,
                          SeparatedValues(NumElements(input.shape), 2),
                          ReferenceRelu);
  }
}

TEST_P(Relu, DoesNotHideANan) {
  const std::unique_ptr<Backend> backend = NewBackend();
  constexpr int64_t kSize = 19;  // Whole vectors and a remainder.
  const auto op = backend->nn().PlanActivation(
      Activation::kRelu, ActivationDesc::Plain({1, kSize}));
  ASSERT_TRUE(op.ok()) << op.status();
  const std::vector<float> nans(kSize, std::numeric_limits<float>::quiet_NaN());
  const std::vector<float> dy(kSize, 2.0f);
  std::vector<float> y(kSize);
  std::vector<float> dx(kSize);
  ASSERT_TRUE((*op)->Forward(nans.data(), y.data()).ok());
  ASSERT_TRUE((*op)->Backward(nullptr, y.data(), dy.data(), dx.data()).ok());
  for (const float value : y) EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(dx, dy);
}

TEST_P(Activations, TanhAndSigmoidEqualTheirDefinitions) {
  const std::unique_ptr<Backend> backend = NewBackend();
  NnKernels& nn = backend->nn();
  for (const ActivationDesc& input :
       {ActivationDesc::Plain({5, 33}), ConvolutionLayout(nn, {2, 16, 3, 3})}) {
    const std::vector<float> x = RandomValues(NumElements(input.shape), 2);
    const auto tanh = nn.PlanActivation(Activation::kTanh, input);
    ASSERT_TRUE(tanh.ok()) << tanh.status();
    ExpectEqualsReference(nn, **tanh, input, x, ReferenceTanh, kSmallStep);
    const auto sigmoid = nn.PlanActivation(Activation::kSigmoid, input);
    ASSERT_TRUE(sigmoid.ok()) << sigmoid.status();
    ExpectEqualsReference(nn, **sigmoid, input, x, ReferenceSigmoid,
                          kSmallStep);
  }
}

TEST_P(GlobalPooling, IsTheMeanOfEachChannelInEveryLayout) {
  const std::unique_ptr<Backend> backend = NewBackend();
  NnKernels& nn = backend->nn();
  for (const Shape& shape :
       {Shape{3, 16, 4, 5}, Shape{3, 6, 4, 5}, Shape{2, 8, 1, 1},
        Shape{3, 5, 9, 11}, Shape{1, 9, 4, 8}}) {
    for (const ActivationDesc& input :
         {ActivationDesc::Plain(shape), ConvolutionLayout(nn, shape)}) {
      const auto op = nn.PlanGlobalPooling(input);
      ASSERT_TRUE(op.ok()) << op.status();
      ExpectEqualsReference(
          nn, **op, input, RandomValues(NumElements(shape), 3),
          [](const ReferenceTensor& x) {
            ReferenceTensor y = ReferenceAdaptivePooling(1, 1, x);
            y.shape.resize(2);
            return y;
          });
    }
  }
}

TEST_P(AdaptivePooling, AveragesItsPartsInEveryLayout) {
  const std::unique_ptr<Backend> backend = NewBackend();
  NnKernels& nn = backend->nn();
  // Parts that tile the image, overlap, or repeat pixels; a single pixel.
  for (const Shape& shape : {Shape{2, 16, 6, 9}, Shape{2, 5, 4, 5},
                             Shape{2, 8, 2, 2}, Shape{2, 8, 1, 1}}) {
    for (const ActivationDesc& input :
         {ActivationDesc::Plain(shape), ConvolutionLayout(nn, shape)}) {
      const auto op = nn.PlanAdaptivePooling(3, 3, input);
      ASSERT_TRUE(op.ok()) << op.status();
      ExpectEqualsReference(nn, **op, input,
                            RandomValues(NumElements(shape), 3),
                            [](const ReferenceTensor& x) {
                              return ReferenceAdaptivePooling(3, 3, x);
                            });
    }
  }
}

TEST_P(Subsampling, TakesPixelsAndAddsChannelsInEveryLayout) {
  const std::unique_ptr<Backend> backend = NewBackend();
  NnKernels& nn = backend->nn();
  for (const int64_t out_channels : {16, 20, 32}) {
    for (const Shape& in : {Shape{2, 16, 6, 6}, Shape{3, 6, 5, 7}}) {
      SubsamplingShape shape;
      shape.stride = 2;
      shape.out_channels = out_channels;
      for (const ActivationDesc& input :
           {ActivationDesc::Plain(in), ConvolutionLayout(nn, in)}) {
        const auto op = nn.PlanSubsampling(shape, input);
        ASSERT_TRUE(op.ok()) << op.status();
        ExpectEqualsReference(nn, **op, input, RandomValues(NumElements(in), 3),
                              [&](const ReferenceTensor& x) {
                                return ReferenceSubsampling(shape, x);
                              });
      }
    }
  }
}

TEST_P(Reorder, GivesPlainOrderAndItsBackwardUndoesIt) {
  const std::unique_ptr<Backend> backend = NewBackend();
  NnKernels& nn = backend->nn();
  const ActivationDesc laid_out = ConvolutionLayout(nn, {2, 3, 2, 2});
  const auto op = nn.PlanReorder(laid_out);
  ASSERT_TRUE(op.ok()) << op.status();
  EXPECT_EQ((*op)->output().layout, nullptr);
  EXPECT_EQ((*op)->output().shape, (Shape{2, 3, 2, 2}));

  // A 1 x 1 convolution whose output channel c is c at every pixel, which shows
  // where the channels are.
  ConvolutionShape one_by_one;
  one_by_one.out_channels = 3;
  one_by_one.kernel_height = 1;
  one_by_one.kernel_width = 1;
  const auto convolution =
      nn.PlanConvolution(one_by_one, ActivationDesc::Plain({2, 1, 2, 2}));
  ASSERT_TRUE(convolution.ok()) << convolution.status();
  const std::vector<float> x(8), weight(3), bias = {0, 1, 2};
  std::vector<float> y(laid_out.num_floats);
  ASSERT_TRUE((*convolution)
                  ->Forward(x.data(), weight.data(), bias.data(), y.data())
                  .ok());
  std::vector<float> plain(24);
  ASSERT_TRUE((*op)->Forward(y.data(), plain.data()).ok());
  EXPECT_EQ(plain, (std::vector<float>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2,
                                       0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2}));
  std::vector<float> back(laid_out.num_floats);
  ASSERT_TRUE(
      (*op)->Backward(y.data(), plain.data(), plain.data(), back.data()).ok());
  EXPECT_EQ(back, y);
}

// Also in place, and with more than one chunk.
TEST_P(Sums, AddOrCopyInEveryLayout) {
  const std::unique_ptr<Backend> backend = NewBackend();
  NnKernels& nn = backend->nn();
  for (const ActivationDesc& desc :
       {ActivationDesc::Plain({1, 1}), ActivationDesc::Plain({2, 40001}),
        ConvolutionLayout(nn, {5, 6, 3, 3})}) {
    const int64_t n = NumElements(desc.shape);
    const std::vector<float> a = RandomValues(n, 1), b = RandomValues(n, 2);
    std::vector<float> sum(n);
    for (int64_t i = 0; i < n; ++i) sum[i] = a[i] + b[i];
    const auto op = nn.PlanSum(desc);
    ASSERT_TRUE(op.ok()) << op.status();
    const std::vector<float> laid_a = ToLayout(nn, desc, a);
    std::vector<float> y = ToLayout(nn, desc, b);
    ASSERT_TRUE((*op)->Run(laid_a.data(), y.data(), y.data()).ok());
    EXPECT_EQ(ToPlain(nn, desc, y), sum);
    ASSERT_TRUE((*op)->Run(laid_a.data(), nullptr, y.data()).ok());
    EXPECT_EQ(ToPlain(nn, desc, y), a);
  }
}

TEST_P(UnaryErrors, ShapesThatDoNotFitAreNamed) {
  const std::unique_ptr<Backend> backend = NewBackend();
  NnKernels& nn = backend->nn();
  PoolingShape no_stride;
  no_stride.stride = 0;
  PoolingShape wide_padding;
  wide_padding.padding = 2;
  SubsamplingShape odd_channels;
  odd_channels.out_channels = 4;
  for (const absl::Status& status :
       {nn.PlanPooling(PoolingShape(), ActivationDesc::Plain({2, 3, 1, 9}))
            .status(),
        nn.PlanPooling(no_stride, ActivationDesc::Plain({2, 3, 1, 9})).status(),
        nn.PlanPooling(wide_padding, ActivationDesc::Plain({2, 3, 1, 9}))
            .status(),
        nn.PlanSubsampling(odd_channels, ActivationDesc::Plain({2, 3, 1, 9}))
            .status(),
        nn.PlanAdaptivePooling(0, 1, ActivationDesc::Plain({2, 3, 1, 9}))
            .status(),
        nn.PlanGlobalPooling(ActivationDesc::Plain({2, 3, 1, 9, 1})).status(),
        nn.PlanActivation(Activation::kRelu,
                          ActivationDesc::Plain({2, 3, 1, 9, 0}))
            .status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "[2, 3, 1, 9")) << status;
  }
}

}  // namespace
}  // namespace ps
