#include "tests/compressors/cuda/device_vectors.h"

#include <cmath>
#include <utility>

#include "tests/tensor/backends_for_test.h"
#include "tests/tensor/require_device.h"

namespace ps {

void DeviceVectorsTest::SetUp() {
  PS_REQUIRE_DEVICE();
  auto backend = NewBackendForTest("cuda");
  ASSERT_TRUE(backend.ok()) << backend.status();
  backend_ = *std::move(backend);
}

Tensor DeviceVectorsTest::Put(const std::vector<float>& values) {
  Tensor tensor =
      backend_->Allocate({static_cast<int64_t>(values.size())}).value();
  EXPECT_TRUE(backend_->CopyFromHost(values.data(), &tensor).ok());
  return tensor;
}

std::vector<float> DeviceVectorsTest::Get(const Tensor& tensor) {
  std::vector<float> values(tensor.size());
  EXPECT_TRUE(backend_->CopyToHost(tensor, values.data()).ok());
  return values;
}

DeviceSum DeviceVectorsTest::SumOf(const std::vector<float>& residual,
                                   const std::vector<float>& gradient) {
  const int64_t n = static_cast<int64_t>(gradient.size());
  std::vector<float> shifted(shift_);
  shifted.insert(shifted.end(), gradient.begin(), gradient.end());
  gradient_ = Put(shifted).Slice(shift_, shift_ + n);
  DeviceSum sum;
  sum.n = n;
  if (residual.empty()) {
    u_ = gradient_;
  } else {
    residual_ = Put(residual);
    u_ = Put(std::vector<float>(n));
    sum.residual = residual_.data();
    sum.gradient = gradient_.data();
  }
  sum.u = u_.data();
  return sum;
}

void DeviceVectorsTest::ExpectSelected(const std::vector<float>& u,
                                       const Selection& expected,
                                       DeviceSelection* actual,
                                       int64_t capacity) {
  ASSERT_EQ(Get(u_), u);
  if (expected.size() > capacity) {
    ++num_too_many_;
    ASSERT_EQ(actual, nullptr);
    return;
  }
  ++num_in_room_;
  ASSERT_NE(actual, nullptr);
  ASSERT_EQ(
      std::vector<uint32_t>(actual->indices.begin(), actual->indices.end()),
      expected.indices);
  ASSERT_EQ(std::vector<float>(actual->values.begin(), actual->values.end()),
            expected.values);
  std::vector<float> left = u;
  for (int64_t i = 0; i < expected.size(); ++i) {
    left[expected.indices[i]] = 0.25f * static_cast<float>(i);
    actual->values[i] = 0.25f * static_cast<float>(i);
  }
  ASSERT_TRUE(actual->Scatter(/*zeros=*/false, u_.data()).ok());
  ASSERT_EQ(Get(u_), left);
  for (const uint32_t i : expected.indices) left[i] = 0;
  ASSERT_TRUE(actual->Scatter(/*zeros=*/true, u_.data()).ok());
  ASSERT_EQ(Get(u_), left);
}

std::vector<float> AddUp(const std::vector<float>& residual,
                         const std::vector<float>& gradient) {
  std::vector<float> u = gradient;
  for (size_t i = 0; i < residual.size(); ++i) u[i] = residual[i] + gradient[i];
  return u;
}

Selection Above(const std::vector<float>& u, float threshold) {
  Selection above;
  for (size_t i = 0; i < u.size(); ++i) {
    if (!(std::fabs(u[i]) > threshold)) continue;
    above.indices.push_back(static_cast<uint32_t>(i));
    above.values.push_back(u[i]);
  }
  return above;
}

}  // namespace ps
