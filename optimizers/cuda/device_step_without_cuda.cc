#include "optimizers/cuda/device_step.h"

namespace ps {

absl::Status StepElementsOnDevice(const ElementRule&, const StepArrays&,
                                  int64_t, SparseWork*) {
  return absl::UnimplementedError("this build has no CUDA");
}

}  // namespace ps
