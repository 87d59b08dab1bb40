// Planted mistakes are found, and named by kernel, block, thread and line.

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/ptx/device.h"
#include "tests/ptx/device_array.h"
#include "tests/ptx/kernels.h"

// What nvcc's objects call.
extern "C" void __cudaRegisterFunction(void**, const char*, char*, const char*,
                                       int, uint3*, uint3*, dim3*, dim3*, int*);

namespace ptx {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// The message of a kernel with the mistake; empty if there is none.
std::string MessageOf(Mistake mistake, bool is_wrong) {
  const FaultCatcher catcher;
  DeviceArray<float> data(64);
  RunMistake(mistake, is_wrong, data.data(), TestStream());
  const cudaError_t error = cudaStreamSynchronize(TestStream());
  EXPECT_EQ(error,
            catcher.message().empty() ? cudaSuccess : cudaErrorLaunchFailure);
  cudaGetLastError();
  return catcher.message();
}

class FaultsTest : public testing::TestWithParam<Order> {
 protected:
  void SetUp() override { SetOrder(GetParam(), /*seed=*/5); }
  void TearDown() override { SetOrder(Order::kForward); }
};
INSTANTIATE_TEST_SUITE_P(Orders, FaultsTest,
                         testing::Values(Order::kForward, Order::kBackward,
                                         Order::kShuffled));

TEST_P(FaultsTest, CorrectKernelsHaveNone) {
  for (int i = 0; i <= static_cast<int>(Mistake::kTrap); ++i) {
    EXPECT_EQ(MessageOf(static_cast<Mistake>(i), false), "") << i;
  }
}

TEST_P(FaultsTest, MissingBarrier) {
  EXPECT_THAT(MessageOf(Mistake::kMissingBarrier, true),
              AllOf(HasSubstr("race: "), HasSubstr("shared memory"),
                    HasSubstr("Wrong<"), HasSubstr("thread ("),
                    HasSubstr("of block (0, 0, 0), kernels.cu:"),
                    HasSubstr("PTX line"), HasSubstr("nothing orders")));
}

TEST_P(FaultsTest, DivergentBarrier) {
  EXPECT_THAT(MessageOf(Mistake::kDivergentBarrier, true),
              HasSubstr("wait at different barriers"));
}

TEST_P(FaultsTest, UnalignedVector) {
  EXPECT_THAT(MessageOf(Mistake::kUnalignedVector, true),
              AllOf(HasSubstr("unaligned"), HasSubstr("16 bytes"),
                    HasSubstr("thread (0, 0, 0)")));
}

TEST_P(FaultsTest, AccessBeyondAnAllocation) {
  EXPECT_THAT(MessageOf(Mistake::kBeyondAllocation, true),
              AllOf(HasSubstr("byte 256 of an allocation of 256 bytes"),
                    HasSubstr("thread (63, 0, 0)")));
}

TEST_P(FaultsTest, RaceOfBlocks) {
  EXPECT_THAT(MessageOf(Mistake::kGlobalRace, true),
              AllOf(HasSubstr("race: writes 4 bytes of global memory"),
                    HasSubstr("thread (7, 0, 0)")));
}

TEST_P(FaultsTest, UninitialisedSharedMemory) {
  EXPECT_THAT(
      MessageOf(Mistake::kUninitialised, true),
      AllOf(HasSubstr("nobody has written"), HasSubstr("thread (54, 0, 0)")));
}

TEST_P(FaultsTest, WaitForAValueThatNobodyWrites) {
  EXPECT_THAT(MessageOf(Mistake::kEndlessWait, true),
              AllOf(HasSubstr("for ever"), HasSubstr("thread (3, 0, 0)"),
                    HasSubstr("a value in memory")));
}

TEST_P(FaultsTest, LaneThatDoesNotCome) {
  EXPECT_THAT(MessageOf(Mistake::kMissingLane, true),
              AllOf(HasSubstr("for ever"), HasSubstr("lanes ffffffff")));
}

TEST_P(FaultsTest, MissingWarpSync) {
  EXPECT_THAT(MessageOf(Mistake::kMissingWarpSync, true),
              AnyOf(HasSubstr("race: "), HasSubstr("nobody has written")));
}

TEST_P(FaultsTest, AccessBeyondSharedMemory) {
  EXPECT_THAT(MessageOf(Mistake::kBeyondShared, true),
              AllOf(HasSubstr("shared memory at 256; the block has 256"),
                    HasSubstr("thread (63, 0, 0)")));
}

TEST_P(FaultsTest, Trap) {
  EXPECT_THAT(MessageOf(Mistake::kTrap, true),
              AllOf(HasSubstr("thread (11, 0, 0)"), HasSubstr("trap")));
}

TEST_P(FaultsTest, GridBarrierWithoutFences) {
  const FaultCatcher catcher;
  DeviceArray<uint32_t> values(192);
  DeviceArray<uint32_t> barrier(2);
  ASSERT_EQ(RunGridBarrier(/*has_fences=*/false, /*rounds=*/2, values.data(),
                           barrier.data(), TestStream()),
            cudaSuccess);
  EXPECT_NE(cudaStreamSynchronize(TestStream()), cudaSuccess);
  EXPECT_THAT(catcher.message(), HasSubstr("race: "));
}

TEST(FaultsDeathTest, FaultEndsTheProcess) {
  DeviceArray<float> data(64);
  EXPECT_DEATH(
      {
        RunMistake(Mistake::kTrap, true, data.data(), TestStream());
        cudaStreamSynchronize(TestStream());
      },
      "Wrong.*trap");
}

TEST(LaunchTest, LaunchesThatADeviceRefusesFail) {
  DeviceArray<float> data(64);
  float* pointer = data.data();
  void* arguments[] = {&pointer};
  EXPECT_EQ(
      cudaLaunchKernel(&pointer, dim3(1), dim3(1), arguments, 0, TestStream()),
      cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  SetMultiprocessors(2, 1);
  DeviceArray<uint32_t> values(192);
  DeviceArray<uint32_t> barrier(2);
  EXPECT_EQ(
      RunGridBarrier(true, 1, values.data(), barrier.data(), TestStream()),
      cudaErrorCooperativeLaunchTooLarge);
  EXPECT_EQ(cudaGetLastError(), cudaErrorCooperativeLaunchTooLarge);
  SetMultiprocessors(3, 1);
}

TEST(LaunchTest, KernelWithoutATranslationIsNamed) {
  const FaultCatcher catcher;
  const char function = 0;
  __cudaRegisterFunction(nullptr, &function, nullptr, "_Z6KernelPf", -1,
                         nullptr, nullptr, nullptr, nullptr, nullptr);
  EXPECT_EQ(
      cudaLaunchKernel(&function, dim3(1), dim3(1), nullptr, 0, TestStream()),
      cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
  EXPECT_THAT(catcher.message(),
              HasSubstr("no translation of the kernel Kernel(float*)"));
}

}  // namespace
}  // namespace ptx
