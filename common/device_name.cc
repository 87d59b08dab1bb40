#include "common/device_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace ps {

std::optional<DeviceName> ParseDeviceName(absl::string_view name) {
  DeviceName device;
  if (name == "auto") return device;
  if (name == "cpu") {
    device.kind = DeviceName::Kind::kCpu;
    return device;
  }
  device.kind = DeviceName::Kind::kCuda;
  if (name == "cuda") return device;
  int index = 0;
  // SimpleAtoi alone would take signs and spaces.
  if (!absl::ConsumePrefix(&name, "cuda:") || name.empty() ||
      !std::all_of(name.begin(), name.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(name, &index) || index > 1023) {
    return std::nullopt;
  }
  device.cuda_index = index;
  return device;
}

}  // namespace ps
