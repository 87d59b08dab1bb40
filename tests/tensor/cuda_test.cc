// The part of the build that needs the CUDA toolkit, and the device if there is
// one.

#include "gtest/gtest.h"
#include "tensor/cuda/cuda_info.h"

namespace ps {
namespace {

TEST(Cuda, DeviceAddsLikeTheHost) {
  const auto count = CudaDeviceCount();
  if (!count.ok()) {
    EXPECT_EQ(count.status().code(), absl::StatusCode::kUnavailable)
        << count.status();
    EXPECT_FALSE(count.status().message().empty());
  }
  if (!count.ok() || *count == 0) {
    // Without a device the check reports it, and the process continues.
    EXPECT_EQ(CudaSelfCheck().code(), absl::StatusCode::kUnavailable);
    GTEST_SKIP() << "no CUDA device";
  }
  const absl::Status status = CudaSelfCheck();
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace
}  // namespace ps
