#include "tests/tensor/require_device.h"

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#ifdef PS_HAVE_CUDA
#include "tensor/cuda/cuda_status.h"
#endif

namespace ps {
namespace {

// Not CudaDeviceCount(), which comes with a kernel that programs with an
// emulated device cannot link.
absl::StatusOr<int> NumDevices() {
#ifdef PS_HAVE_CUDA
  int count = 0;
  PS_RETURN_IF_CUDA_ERROR(cudaGetDeviceCount(&count));
  return count;
#else
  return absl::UnavailableError("this build has no CUDA support");
#endif
}

}  // namespace

DeviceDecision DecideOnDevice(absl::string_view test_name,
                              const absl::StatusOr<int>& num_devices,
                              bool required) {
  if (!absl::StrContains(test_name, "cuda") &&
      !absl::StrContains(test_name, "OnDevice") &&
      !absl::StrContains(test_name, "Emulated")) {
    return {
        DeviceVerdict::kFail,
        absl::StrCat(test_name,
                     " needs a device, so its name must contain \"cuda\" "
                     "or \"OnDevice\": benchmarks/on_gpu finds it by that")};
  }
  if (num_devices.ok() && *num_devices > 0) return {DeviceVerdict::kRun, ""};
  if (!num_devices.ok() && !absl::IsUnavailable(num_devices.status())) {
    return {DeviceVerdict::kFail, num_devices.status().ToString()};
  }
  std::string reason = "no CUDA device";
  if (!num_devices.ok()) {
    absl::StrAppend(&reason, ": ", num_devices.status().message());
  }
  if (!required) return {DeviceVerdict::kSkip, reason};
  return {DeviceVerdict::kFail,
          absl::StrCat(reason, "; GRADSIEVE_REQUIRE_DEVICE forbids to skip")};
}

DeviceDecision DecideOnDevice() {
  const testing::TestInfo& test =
      *testing::UnitTest::GetInstance()->current_test_info();
  DeviceDecision decision = DecideOnDevice(
      absl::StrCat(test.test_suite_name(), ".", test.name()), NumDevices(),
      std::getenv("GRADSIEVE_REQUIRE_DEVICE") != nullptr);
  if (decision.verdict == DeviceVerdict::kRun) {
    testing::Test::RecordProperty("device", "cuda");
  }
  return decision;
}

}  // namespace ps
