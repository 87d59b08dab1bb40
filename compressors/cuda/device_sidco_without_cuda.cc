#include "compressors/cuda/device_sidco.h"

namespace ps {

absl::StatusOr<std::unique_ptr<DeviceSidco>> NewDeviceSidco(int64_t, int64_t,
                                                            SparseWork*) {
  return absl::UnimplementedError("this build has no CUDA");
}

}  // namespace ps
