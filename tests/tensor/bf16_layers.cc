#include "tests/tensor/bf16_layers.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tests/tensor/activations.h"

namespace ps {
namespace {

double Largest(const std::vector<float>& values) {
  double largest = 0;
  for (const float value : values) {
    largest = std::max(largest, std::abs(double{value}));
  }
  return largest;
}

}  // namespace

std::vector<std::string> Bf16BackendNames() {
  return {"cuda_bf16", "cuda_without_cudnn_bf16"};
}

std::vector<float> RandomBf16(int64_t n, uint64_t seed) {
  std::vector<float> values = RandomValues(n, seed);
  for (float& value : values) value = Bfloat16(value);
  return values;
}

void ExpectRoundedOnce(const std::vector<float>& actual,
                       const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  const double rest = kFloatError * (1 + Largest(expected));
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i],
                kRounding * std::abs(double{expected[i]}) + rest)
        << "element " << i;
    EXPECT_EQ(actual[i], float{Bfloat16(actual[i])}) << "element " << i;
  }
}

void ExpectRounded(const std::vector<float>& actual,
                   const std::vector<float>& expected, double roundings) {
  const double tolerance =
      (roundings * kRounding + kFloatError) * (1e-3 + Largest(expected));
  ExpectClose(actual, std::vector<double>(expected.begin(), expected.end()),
              tolerance);
}

void Bf16Layers::SetUp() {
  UseBackend(GetParam());
  if (IsSkipped() || HasFailure()) return;
  bf16_ = NewBackend();
  cpu_ = CpuBackendForTest();
}

ActivationDesc Bf16Layers::Laid(const Shape& shape) {
  ActivationDesc desc;
  if (shape.size() == 4) {
    desc = ConvolutionLayout(nn(), shape);
  } else if (shape.size() == 2) {
    desc = nn().PlanLinear(shape[1], ActivationDesc::Plain({shape[0], 1}))
               .value()
               ->output();
  } else {
    desc = bf16_->sequences()
               .PlanSequenceLinear(
                   shape[2], ActivationDesc::Plain({shape[0], shape[1], 1}))
               .value()
               ->output();
  }
  EXPECT_EQ(desc.shape, shape);
  EXPECT_NE(desc.layout, nullptr);
  EXPECT_EQ(desc.num_floats, (NumElements(shape) + 1) / 2);
  return desc;
}

Bf16Layers::Results Bf16Layers::RunUnary(NnKernels& nn, UnaryOp& op,
                                         const ActivationDesc& input,
                                         const std::vector<float>& x) {
  const ActivationDesc& output = op.output();
  const std::vector<float> laid_x = ToLayout(nn, input, x);
  std::vector<float> y(output.num_floats), dx(input.num_floats);
  absl::Status status = op.Forward(laid_x.data(), y.data());
  EXPECT_TRUE(status.ok()) << status;
  const std::vector<float> dy =
      ToLayout(nn, output, RandomBf16(NumElements(output.shape), 9));
  status = op.Backward(laid_x.data(), y.data(), dy.data(), dx.data());
  EXPECT_TRUE(status.ok()) << status;
  return {ToPlain(nn, output, y), ToPlain(nn, input, dx), {}, {}};
}

void Bf16Layers::CompareUnary(
    const Shape& shape, const UnaryPlanner& plan,
    const std::function<void(const Results& actual, const Results& expected)>&
        check) {
  SCOPED_TRACE(ShapeString(shape));
  const std::vector<float> x = RandomBf16(NumElements(shape), 8);
  const ActivationDesc input = Laid(shape);
  const auto op = plan(nn(), input);
  ASSERT_TRUE(op.ok()) << op.status();
  EXPECT_NE((*op)->output().layout, nullptr);
  const ActivationDesc plain = ActivationDesc::Plain(shape);
  const auto cpu_op = plan(cpu_nn(), plain);
  ASSERT_TRUE(cpu_op.ok()) << cpu_op.status();
  ASSERT_EQ((*op)->output().shape, (*cpu_op)->output().shape);
  check(RunUnary(nn(), **op, input, x), RunUnary(cpu_nn(), **cpu_op, plain, x));
}

void Bf16Layers::CompareUnary(const Shape& shape, const UnaryPlanner& plan) {
  CompareUnary(shape, plan, [](const Results& actual, const Results& expected) {
    ExpectRoundedOnce(actual.y, expected.y);
    ExpectRoundedOnce(actual.dx, expected.dx);
  });
}

Bf16Layers::Results Bf16Layers::RunAffine(NnKernels& nn, AffineOp& op,
                                          const ActivationDesc& input,
                                          int64_t num_weights,
                                          int64_t num_biases) {
  const ActivationDesc& output = op.output();
  const std::vector<float> x =
      ToLayout(nn, input, RandomBf16(NumElements(input.shape), 1));
  const std::vector<float> weight = RandomBf16(num_weights, 2);
  const std::vector<float> bias = RandomValues(num_biases, 3);
  const std::vector<float> dy =
      ToLayout(nn, output, RandomBf16(NumElements(output.shape), 4));
  std::vector<float> y(output.num_floats), dx(input.num_floats);
  Results r;
  r.dweight.resize(num_weights);
  r.dbias.resize(num_biases);
  absl::Status status =
      op.Forward(x.data(), weight.data(), bias.data(), y.data());
  EXPECT_TRUE(status.ok()) << status;
  // Runs twice, to check that the second run takes nothing else from the first.
  for (int i = 0; i < 2; ++i) {
    std::fill(dx.begin(), dx.end(), 0.0f);
    std::fill(r.dweight.begin(), r.dweight.end(), 0.0f);
    status = op.Backward(x.data(), weight.data(), dy.data(), dx.data(),
                         r.dweight.data(), r.dbias.data());
    EXPECT_TRUE(status.ok()) << status;
  }
  r.y = ToPlain(nn, output, y);
  r.dx = ToPlain(nn, input, dx);
  return r;
}

void Bf16Layers::CheckAffine(const Results& actual,
                             const Results& expected) const {
  // Only cuDNN rounds the gradient of weights to bfloat16.
  const double weight_roundings =
      absl::StartsWith(backend_name(), "cuda_bf16") ? 1 : 0;
  // Rounded twice: the product, and its sum with the bias.
  ExpectRounded(actual.y, expected.y, 2);
  ExpectRounded(actual.dx, expected.dx, 1);
  ExpectRounded(actual.dweight, expected.dweight, weight_roundings);
  ExpectRounded(actual.dbias, expected.dbias, 0);
}

}  // namespace ps
