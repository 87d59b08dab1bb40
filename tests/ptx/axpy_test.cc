#include "gtest/gtest.h"
#include "tensor/cuda/cuda_info.h"
#include "tests/ptx/device.h"

namespace ps {
namespace {

TEST(AxpyTest, RunsThroughTheRuntime) {
  ptx::AllowDefaultStream();
  EXPECT_TRUE(CudaSelfCheck().ok());
  EXPECT_GT(ptx::NumLaunches(), 0);
}

}  // namespace
}  // namespace ps
