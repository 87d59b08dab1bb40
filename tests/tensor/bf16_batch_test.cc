// Operations over the whole batch, batch normalisation and loss, with bfloat16,
// compared with the CPU (bf16_layers.h).

#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/bf16_layers.h"

namespace ps {
namespace {

struct NormResults {
  std::vector<float> y, dy, dx, dweight, dbias, mean, variance;
};

NormResults RunNorm(NnKernels& nn, const BatchNormShape& shape,
                    const ActivationDesc& desc, bool has_residual) {
  const int64_t n = NumElements(desc.shape), channels = desc.shape[1];
  const auto op = nn.PlanBatchNorm(shape, desc, has_residual ? &desc : nullptr);
  EXPECT_TRUE(op.ok()) << op.status();
  if (!op.ok()) return {};
  const std::vector<float> x = ToLayout(nn, desc, RandomBf16(n, 1));
  const std::vector<float> residual = ToLayout(nn, desc, RandomBf16(n, 2));
  const std::vector<float> weight = RandomValues(channels, 3);
  const std::vector<float> bias = RandomValues(channels, 4);
  NormResults r;
  r.mean = RandomValues(channels, 5);
  r.variance.assign(channels, 2.0f);
  std::vector<float> y(desc.num_floats), dx(desc.num_floats);
  BatchNormOp::ForwardArguments f;
  f.x = x.data();
  f.residual = has_residual ? residual.data() : nullptr;
  f.weight = weight.data(), f.bias = bias.data();
  f.running_mean = r.mean.data(), f.running_variance = r.variance.data();
  f.y = y.data();
  absl::Status status = (*op)->Forward(f);
  EXPECT_TRUE(status.ok()) << status;
  r.y = ToPlain(nn, desc, y);
  if (!shape.training) return r;
  std::vector<float> dy = ToLayout(nn, desc, RandomBf16(n, 6));
  r.dweight.resize(channels);
  r.dbias.resize(channels);
  BatchNormOp::BackwardArguments b;
  b.x = x.data(), b.y = y.data(), b.dy = dy.data(), b.dx = dx.data();
  b.dweight = r.dweight.data(), b.dbias = r.dbias.data();
  status = (*op)->Backward(b);
  EXPECT_TRUE(status.ok()) << status;
  r.dy = ToPlain(nn, desc, dy);
  r.dx = ToPlain(nn, desc, dx);
  return r;
}

TEST_P(Bf16Layers, BatchNorm) {
  // Also several chunks of rows, tiles of channels, and a remainder of each.
  for (const Shape& input :
       {Shape{3, 5, 4, 3}, Shape{7, 33}, Shape{3, 35, 13, 11}}) {
    for (int variant = 0; variant < 8; ++variant) {
      BatchNormShape shape;
      shape.training = variant % 2 == 0;
      shape.relu = variant / 2 % 2 == 1;
      const bool residual = variant / 4 == 1;
      SCOPED_TRACE(absl::StrCat(ShapeString(input), " variant ", variant));
      const NormResults actual = RunNorm(nn(), shape, Laid(input), residual);
      const NormResults expected =
          RunNorm(cpu_nn(), shape, ActivationDesc::Plain(input), residual);
      ExpectRoundedOnce(actual.y, expected.y);
      ExpectRounded(actual.mean, expected.mean, 0);
      ExpectRounded(actual.variance, expected.variance, 0);
      if (!shape.training) continue;
      ExpectRoundedOnce(actual.dx, expected.dx);
      ExpectRounded(actual.dweight, expected.dweight, 0);
      ExpectRounded(actual.dbias, expected.dbias, 0);
      if (residual && shape.relu) {
        EXPECT_EQ(actual.dy, expected.dy);
      }
    }
  }
}

TEST_P(Bf16Layers, AResidualOfAnotherLayoutIsRefused) {
  const ActivationDesc plain = ActivationDesc::Plain({2, 3, 4, 4});
  EXPECT_EQ(nn().PlanBatchNorm(BatchNormShape(), Laid(plain.shape), &plain)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(Bf16Layers, SoftmaxCrossEntropy) {
  const Shape shape = {5, 301};
  const std::vector<float> x = RandomBf16(NumElements(shape), 1);
  const std::vector<int32_t> labels = {0, 300, 7, 8, 9};
  const ActivationDesc desc = Laid(shape);
  const auto op = nn().PlanSoftmaxCrossEntropy(desc);
  ASSERT_TRUE(op.ok()) << op.status();
  const auto cpu_op =
      cpu_nn().PlanSoftmaxCrossEntropy(ActivationDesc::Plain(shape));
  ASSERT_TRUE(cpu_op.ok()) << cpu_op.status();
  std::vector<float> expected(x.size());
  const auto cpu_result =
      (*cpu_op)->Run(x.data(), labels.data(), expected.data());
  ASSERT_TRUE(cpu_result.ok()) << cpu_result.status();
  // In place.
  std::vector<float> laid = ToLayout(nn(), desc, x);
  const auto result = (*op)->Run(laid.data(), labels.data(), laid.data());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_NEAR(result->loss, cpu_result->loss, kFloatError);
  EXPECT_EQ(result->correct, cpu_result->correct);
  EXPECT_EQ(result->correct_top5, cpu_result->correct_top5);
  ExpectRoundedOnce(ToPlain(nn(), desc, laid), expected);
}

}  // namespace
}  // namespace ps
