#include "compressors/cuda/device_top_k.h"

namespace ps {

absl::StatusOr<std::unique_ptr<DeviceTopK>> NewDeviceTopK(SparseWork*) {
  return absl::UnimplementedError("this build has no CUDA");
}

}  // namespace ps
