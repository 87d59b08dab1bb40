// What a test does that needs a CUDA device, where there is none.
#ifndef TESTS_TENSOR_REQUIRE_DEVICE_H_
#define TESTS_TENSOR_REQUIRE_DEVICE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace ps {

enum class DeviceVerdict { kRun, kSkip, kFail };

struct DeviceDecision {
  DeviceVerdict verdict;
  std::string reason;  // Empty for kRun.
};

// Decides for the test of this name. num_devices: kUnavailable means
// that there is none. That is the only reason to skip, and a failure if the
// device is `required`. Other errors are failures, and so is a name that
// benchmarks/on_gpu would not find: it must contain "cuda" or "OnDevice",
// or "Emulated" if it never runs on a real one.
DeviceDecision DecideOnDevice(absl::string_view test_name,
                              const absl::StatusOr<int>& num_devices,
                              bool required);

// The same for the current test and this machine. The environment variable
// GRADSIEVE_REQUIRE_DEVICE makes the device required. A test that may run is
// recorded with the property "device" in GoogleTest's report.
DeviceDecision DecideOnDevice();

}  // namespace ps

// Returns from a test, or from SetUp, where there is no CUDA device. After it,
// anything that is missing (a library, a kernel for the device) is a failure of
// the test.
#define PS_REQUIRE_DEVICE()                                        \
  do {                                                             \
    const ::ps::DeviceDecision ps_device = ::ps::DecideOnDevice(); \
    if (ps_device.verdict == ::ps::DeviceVerdict::kFail) {         \
      GTEST_FAIL() << ps_device.reason;                            \
    }                                                              \
    if (ps_device.verdict == ::ps::DeviceVerdict::kSkip) {         \
      GTEST_SKIP() << ps_device.reason;                            \
    }                                                              \
  } while (false)

#endif  // TESTS_TENSOR_REQUIRE_DEVICE_H_
