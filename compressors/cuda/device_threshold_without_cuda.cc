#include "compressors/cuda/device_threshold.h"

namespace ps {

absl::StatusOr<std::unique_ptr<DeviceThreshold>> NewDeviceThreshold(
    SparseWork*) {
  return absl::UnimplementedError("this build has no CUDA");
}

}  // namespace ps
