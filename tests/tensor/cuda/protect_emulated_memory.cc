// Linked into tests that must crash if the host accesses a device's memory.

#ifdef PS_HAVE_CUDA

#include "tests/tensor/cuda/emulated_device.h"

namespace ps {
namespace {

[[maybe_unused]] const bool kIsProtected = ProtectEmulatedDeviceMemory();

}  // namespace
}  // namespace ps

#endif  // PS_HAVE_CUDA
