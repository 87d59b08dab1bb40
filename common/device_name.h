// Parses the name of a device in a config.
#ifndef COMMON_DEVICE_NAME_H_
#define COMMON_DEVICE_NAME_H_

#include <optional>

#include "absl/strings/string_view.h"

namespace ps {

// The rule for device names, used in messages.
constexpr char kDeviceNameRule[] =
    "must be \"auto\", \"cpu\", \"cuda\" or \"cuda:N\" with N in [0, 1023]";

struct DeviceName {
  enum class Kind {
    kAuto,  // The best device available.
    kCpu,
    kCuda,
  };
  Kind kind = Kind::kAuto;
  std::optional<int> cuda_index;  // Set only for "cuda:N".
};

// Returns nullopt if the name breaks the rule.
std::optional<DeviceName> ParseDeviceName(absl::string_view name);

}  // namespace ps

#endif  // COMMON_DEVICE_NAME_H_
