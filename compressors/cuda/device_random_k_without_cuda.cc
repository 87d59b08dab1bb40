#include "compressors/cuda/device_random_k.h"

namespace ps {

absl::StatusOr<std::unique_ptr<DeviceRandomK>> NewDeviceRandomK(SparseWork*) {
  return absl::UnimplementedError("this build has no CUDA");
}

}  // namespace ps
