#include "compressors/cuda/device_widener.h"

namespace ps {

bool CanWiden(const PayloadInfo&) { return false; }

absl::StatusOr<std::unique_ptr<DeviceWidener>> NewDeviceWidener(SparseWork*) {
  return absl::UnimplementedError("this build has no CUDA");
}

}  // namespace ps
