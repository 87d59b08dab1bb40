#include "tests/tensor/require_device.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using testing::HasSubstr;

DeviceVerdict VerdictOf(const absl::StatusOr<int>& num_devices, bool required) {
  return DecideOnDevice("Suite.OnDevice", num_devices, required).verdict;
}

TEST(RequireDeviceTest, OnlyAMissingDeviceIsSkippedAndOnlyIfNoneIsRequired) {
  const absl::Status none = absl::UnavailableError("there is no driver");
  EXPECT_EQ(VerdictOf(0, false), DeviceVerdict::kSkip);
  EXPECT_EQ(VerdictOf(none, false), DeviceVerdict::kSkip);
  EXPECT_EQ(VerdictOf(0, true), DeviceVerdict::kFail);
  EXPECT_EQ(VerdictOf(none, true), DeviceVerdict::kFail);
  for (const bool required : {false, true}) {
    EXPECT_EQ(VerdictOf(1, required), DeviceVerdict::kRun);
    EXPECT_EQ(VerdictOf(absl::InternalError("broken"), required),
              DeviceVerdict::kFail);
  }
}

TEST(RequireDeviceTest, SaysWhatIsMissing) {
  EXPECT_THAT(
      DecideOnDevice("Suite.OnDevice", absl::UnavailableError("old"), true)
          .reason,
      HasSubstr("no CUDA device: old; GRADSIEVE_REQUIRE_DEVICE"));
}

TEST(RequireDeviceTest, ATestThatWouldNotBeFoundOnAGpuFails) {
  const DeviceDecision decision = DecideOnDevice("TopKTest.Selects", 1, false);
  EXPECT_EQ(decision.verdict, DeviceVerdict::kFail);
  EXPECT_THAT(decision.reason, HasSubstr("TopKTest.Selects needs a device"));
  EXPECT_EQ(DecideOnDevice("All/Layers.Add/cuda_bf16", 1, false).verdict,
            DeviceVerdict::kRun);
}

}  // namespace
}  // namespace ps
