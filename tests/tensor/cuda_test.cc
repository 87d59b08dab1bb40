// The part of the build that needs the CUDA toolkit, and the device if there is
// one.

#include "gtest/gtest.h"
#include "tensor/cuda/cuda_info.h"
#include "tests/tensor/require_device.h"

namespace ps {
namespace {

TEST(Cuda, WithoutADeviceTheCheckReportsItAndTheProcessContinues) {
  const auto count = CudaDeviceCount();
  if (count.ok() && *count > 0) return;
  if (!count.ok()) {
    EXPECT_EQ(count.status().code(), absl::StatusCode::kUnavailable)
        << count.status();
    EXPECT_FALSE(count.status().message().empty());
  }
  EXPECT_EQ(CudaSelfCheck().code(), absl::StatusCode::kUnavailable);
}

TEST(Cuda, AddsOnDeviceLikeTheHost) {
  PS_REQUIRE_DEVICE();
  const absl::Status status = CudaSelfCheck();
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace ps
