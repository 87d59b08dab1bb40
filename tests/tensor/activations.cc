#include "tests/tensor/activations.h"

#include <numeric>
#include <utility>

#include "common/random.h"
#include "glog/logging.h"
#include "gtest/gtest.h"

namespace ps {

std::unique_ptr<Backend> CpuBackendForTest(int num_threads) {
  CpuBackendOptions options;
  options.num_threads = num_threads;
  auto backend = NewCpuBackend(options);
  CHECK(backend.ok()) << backend.status();
  return *std::move(backend);
}

std::vector<float> RandomValues(int64_t n, uint64_t seed) {
  RandomStream random(RandomKey(seed));
  std::vector<float> values(n);
  for (float& value : values) {
    value = static_cast<float>(random.Uniform(-1, 1));
  }
  return values;
}

std::vector<float> SeparatedValues(int64_t n, uint64_t seed) {
  std::vector<float> values(n);
  for (int64_t i = 0; i < n; ++i) {
    values[i] = 0.1f * static_cast<float>(i - n / 2) + 0.05f;
  }
  RandomStream random(RandomKey(seed));
  for (int64_t i = n - 1; i > 0; --i) {
    std::swap(values[i], values[random.Below(i + 1)]);
  }
  return values;
}

ActivationDesc ConvolutionLayout(NnKernels& nn, const Shape& shape) {
  ConvolutionShape one_by_one;
  one_by_one.out_channels = shape[1];
  one_by_one.kernel_height = 1;
  one_by_one.kernel_width = 1;
  const auto convolution = nn.PlanConvolution(
      one_by_one, ActivationDesc::Plain({shape[0], 1, shape[2], shape[3]}));
  CHECK(convolution.ok()) << convolution.status();
  return (*convolution)->output();
}

std::vector<float> ToLayout(NnKernels& nn, const ActivationDesc& activation,
                            const std::vector<float>& plain) {
  const auto reorder = nn.PlanReorder(activation);
  CHECK(reorder.ok()) << reorder.status();
  std::vector<float> values(activation.num_floats);
  const absl::Status status =
      (*reorder)->Backward(nullptr, nullptr, plain.data(), values.data());
  CHECK(status.ok()) << status;
  return values;
}

std::vector<float> ToPlain(NnKernels& nn, const ActivationDesc& activation,
                           const std::vector<float>& values) {
  const auto reorder = nn.PlanReorder(activation);
  CHECK(reorder.ok()) << reorder.status();
  std::vector<float> plain(NumElements(activation.shape));
  const absl::Status status = (*reorder)->Forward(values.data(), plain.data());
  CHECK(status.ok()) << status;
  return plain;
}

ReferenceTensor ToReference(const Shape& shape,
                            const std::vector<float>& plain) {
  ReferenceTensor tensor;
  tensor.shape = shape;
  tensor.values.assign(plain.begin(), plain.end());
  return tensor;
}

double Dot(const std::vector<float>& a, const std::vector<double>& b) {
  CHECK_EQ(a.size(), b.size());
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

void ExpectClose(const std::vector<float>& actual,
                 const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
  }
}

}  // namespace ps
