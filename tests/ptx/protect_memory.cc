// Linked into tests that must crash if the host accesses a device's memory.

#include "tests/ptx/device.h"

namespace ptx {
namespace {

[[maybe_unused]] const bool kIsProtected = ProtectDeviceMemory();

}  // namespace
}  // namespace ptx
