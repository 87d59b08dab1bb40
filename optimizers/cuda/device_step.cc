#include "optimizers/cuda/device_step.h"

#include "common/status_macros.h"
#include "optimizers/cuda/step_launch.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/sparse/sparse_work.h"

namespace ps {

absl::Status StepElementsOnDevice(const ElementRule& rule,
                                  const StepArrays& arrays, int64_t n,
                                  SparseWork* work) {
  if (n == 0) return absl::OkStatus();
  PS_RETURN_IF_ERROR(work->Begin());
  const cudaError_t launched = std::visit(
      [&](const auto& element) {
        using Element = std::decay_t<decltype(element)>;
        return LaunchSteps(StepElementOf<Element>{element, arrays}, n,
                           work->stream());
      },
      rule);
  PS_RETURN_IF_CUDA_ERROR(launched);
  return work->End();
}

}  // namespace ps
