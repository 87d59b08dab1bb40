// The part of the build that needs the CUDA toolkit, and the device if there is
// one.

#include "gtest/gtest.h"
#include "tensor/cuda/cuda_support.h"
#include "tests/tensor/require_device.h"

namespace ps {
namespace {

TEST(Cuda, WithoutADeviceTheCheckReportsItAndTheProcessContinues) {
  const CudaSupport* const cuda = FindCudaSupport();
  if (cuda == nullptr) GTEST_SKIP() << "built without CUDA";
  const auto count = cuda->device_count();
  if (count.ok() && *count > 0) return;
  if (!count.ok()) {
    EXPECT_EQ(count.status().code(), absl::StatusCode::kUnavailable)
        << count.status();
    EXPECT_FALSE(count.status().message().empty());
  }
  EXPECT_EQ(cuda->self_check().code(), absl::StatusCode::kUnavailable);
}

TEST(Cuda, AddsOnDeviceLikeTheHost) {
  PS_REQUIRE_DEVICE();
  const absl::Status status = FindCudaSupport()->self_check();
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace ps
