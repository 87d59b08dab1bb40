// Layers without weights with bfloat16, compared with the CPU (bf16_layers.h).

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/bf16_layers.h"

namespace ps {
namespace {

TEST_P(Bf16Layers, Pooling) {
  for (const auto kind :
       {PoolingShape::Kind::kMax, PoolingShape::Kind::kAverage}) {
    for (const int64_t stride : {1, 2}) {
      PoolingShape shape;
      shape.kind = kind;
      shape.window = 3;
      shape.stride = stride;
      shape.padding = 1;
      for (const Shape& input : {Shape{2, 5, 7, 6}, Shape{1, 33, 3, 3}}) {
        CompareUnary(input, [&](NnKernels& nn, const ActivationDesc& desc) {
          return nn.PlanPooling(shape, desc);
        });
      }
    }
  }
}

TEST_P(Bf16Layers, AdaptiveAndGlobalPooling) {
  for (const Shape& input :
       {Shape{2, 5, 7, 6}, Shape{3, 33, 2, 2}, Shape{1, 1, 1, 1}}) {
    CompareUnary(input, [](NnKernels& nn, const ActivationDesc& desc) {
      return nn.PlanAdaptivePooling(3, 3, desc);
    });
    CompareUnary(input, [](NnKernels& nn, const ActivationDesc& desc) {
      return nn.PlanGlobalPooling(desc);
    });
  }
}

TEST_P(Bf16Layers, Activations) {
  for (const Shape& input : {Shape{2, 5, 3, 3}, Shape{3, 5}, Shape{2, 3, 5}}) {
    CompareUnary(input, [](NnKernels& nn, const ActivationDesc& desc) {
      return nn.PlanActivation(Activation::kRelu, desc);
    });
    for (const Activation function :
         {Activation::kTanh, Activation::kSigmoid}) {
      CompareUnary(
          input,
          [&](NnKernels& nn, const ActivationDesc& desc) {
            return nn.PlanActivation(function, desc);
          },
          [](const Results& actual, const Results& expected) {
            ExpectRoundedOnce(actual.y, expected.y);
            // Uses the slope at the rounded y: a change of y changes the slope
            // of tanh 2 y times as much.
            ExpectRounded(actual.dx, expected.dx, 3);
          });
    }
  }
}

TEST_P(Bf16Layers, Subsampling) {
  for (const int64_t out_channels : {5, 9}) {
    SubsamplingShape shape;
    shape.out_channels = out_channels;
    CompareUnary(
        {2, 5, 7, 6},
        [&](NnKernels& nn, const ActivationDesc& desc) {
          return nn.PlanSubsampling(shape, desc);
        },
        [](const Results& actual, const Results& expected) {
          EXPECT_EQ(actual.y, expected.y);
          EXPECT_EQ(actual.dx, expected.dx);
        });
  }
}

TEST_P(Bf16Layers, FrameWindows) {
  FrameWindowShape shape;
  shape.window = 3;
  shape.stride = 2;
  shape.before = 1;
  const ActivationDesc input = Laid({5, 2, 3});
  const auto op = bf16_->sequences().PlanFrameWindow(shape, input);
  ASSERT_TRUE(op.ok()) << op.status();
  const ActivationDesc plain = ActivationDesc::Plain({5, 2, 3});
  const auto cpu_op = cpu_->sequences().PlanFrameWindow(shape, plain);
  ASSERT_TRUE(cpu_op.ok()) << cpu_op.status();
  const std::vector<float> x = RandomBf16(30, 8);
  const Results actual = RunUnary(nn(), **op, input, x);
  const Results expected = RunUnary(cpu_nn(), **cpu_op, plain, x);
  EXPECT_EQ(actual.y, expected.y);
  ExpectRoundedOnce(actual.dx, expected.dx);
}

TEST_P(Bf16Layers, StepReductions) {
  const ActivationDesc input = Laid({5, 2, 3});
  const ActivationDesc plain = ActivationDesc::Plain({5, 2, 3});
  const std::vector<float> x = RandomBf16(30, 8);
  for (const auto reduction : {StepReduction::kLast, StepReduction::kMean}) {
    const auto op = bf16_->sequences().PlanStepReduction(reduction, input);
    ASSERT_TRUE(op.ok()) << op.status();
    const auto cpu_op = cpu_->sequences().PlanStepReduction(reduction, plain);
    ASSERT_TRUE(cpu_op.ok()) << cpu_op.status();
    const Results actual = RunUnary(nn(), **op, input, x);
    const Results expected = RunUnary(cpu_nn(), **cpu_op, plain, x);
    ExpectRoundedOnce(actual.y, expected.y);
    ExpectRoundedOnce(actual.dx, expected.dx);
  }
}

TEST_P(Bf16Layers, ReorderIsExactAndItsBackwardUndoesIt) {
  for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{3, 5}, Shape{3, 3, 3}}) {
    const ActivationDesc desc = Laid(shape);
    const std::vector<float> x = RandomBf16(NumElements(shape), 3);
    const std::vector<float> laid = ToLayout(nn(), desc, x);
    EXPECT_EQ(ToPlain(nn(), desc, laid), x);
    // Images have their channels last, so the second element belongs to channel
    // 1.
    const auto* const elements = reinterpret_cast<const Bfloat16*>(laid.data());
    EXPECT_EQ(float{elements[1]}, shape.size() == 4 ? x[4 * 5] : x[1]);
  }
  const int64_t before = nn().num_reorders();
  ToPlain(nn(), Laid({3, 5}), std::vector<float>(8));
  EXPECT_EQ(nn().num_reorders(), before);
  ToPlain(nn(), Laid({2, 3, 4, 5}), std::vector<float>(60));
  EXPECT_EQ(nn().num_reorders(), before + 1);
}

TEST_P(Bf16Layers, SumsAndCopies) {
  for (const Shape& shape : {Shape{2, 3, 3, 3}, Shape{1, 5}}) {
    const ActivationDesc desc = Laid(shape);
    const auto op = nn().PlanSum(desc);
    ASSERT_TRUE(op.ok()) << op.status();
    const int64_t n = NumElements(shape);
    const std::vector<float> a = RandomBf16(n, 1), b = RandomBf16(n, 2);
    const std::vector<float> laid_a = ToLayout(nn(), desc, a);
    std::vector<float> y = ToLayout(nn(), desc, b);
    ASSERT_TRUE((*op)->Run(laid_a.data(), y.data(), y.data()).ok());
    std::vector<float> sum(n);
    for (int64_t i = 0; i < n; ++i) sum[i] = Bfloat16(a[i] + b[i]);
    EXPECT_EQ(ToPlain(nn(), desc, y), sum);
    ASSERT_TRUE((*op)->Run(laid_a.data(), nullptr, y.data()).ok());
    EXPECT_EQ(ToPlain(nn(), desc, y), a);
  }
}

TEST_P(Bf16Layers, DropoutDropsWhatTheCpuDrops) {
  const Shape shape = {3, 67};
  const int64_t n = NumElements(shape);
  const ActivationDesc desc = Laid(shape);
  const auto op = nn().PlanDropout(0.3, desc);
  ASSERT_TRUE(op.ok()) << op.status();
  const auto cpu_op = cpu_nn().PlanDropout(0.3, ActivationDesc::Plain(shape));
  ASSERT_TRUE(cpu_op.ok()) << cpu_op.status();
  const std::vector<float> x = RandomBf16(n, 1);
  std::vector<float> laid = ToLayout(nn(), desc, x), expected(n);
  ASSERT_TRUE((*cpu_op)->Forward(7, x.data(), expected.data()).ok());
  ASSERT_TRUE((*op)->Forward(7, laid.data(), laid.data()).ok());
  ExpectRoundedOnce(ToPlain(nn(), desc, laid), expected);
  laid = ToLayout(nn(), desc, x);
  ASSERT_TRUE((*op)->Backward(laid.data(), laid.data()).ok());
  ExpectRoundedOnce(ToPlain(nn(), desc, laid), expected);
}

}  // namespace
}  // namespace ps
