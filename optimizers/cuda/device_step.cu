#include <type_traits>
#include <variant>

#include "common/status_macros.h"
#include "optimizers/cuda/device_step.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/sparse/four.h"
#include "tensor/cuda/sparse/sparse_work.h"

namespace ps {
namespace {

template <class Element>
struct StepFour {
  Element element;
  StepArrays arrays;

  __device__ void operator()(const FourOf& four) const {
    float gradient[kFour];
    float weights[kFour];
    float states[kMaxElementStates][kFour];
    four.Load(arrays.gradient, gradient);
    four.Load(arrays.weights, weights);
#pragma unroll
    for (int s = 0; s < Element::kStates; ++s) {
      four.Load(arrays.states[s], states[s]);
    }
#pragma unroll
    for (int k = 0; k < kFour; ++k) {
      StepElement(element, k, arrays.share, gradient, weights, states[0],
                  states[1]);
    }
    four.Store(gradient, arrays.gradient);
    four.Store(weights, arrays.weights);
#pragma unroll
    for (int s = 0; s < Element::kStates; ++s) {
      four.Store(states[s], arrays.states[s]);
    }
  }
};

class DeviceStepImpl final : public DeviceStep {
 public:
  explicit DeviceStepImpl(SparseWork* work) : work_(work) {}

  absl::Status Step(const ElementRule& rule, const StepArrays& arrays,
                    int64_t n) override {
    if (n == 0) return absl::OkStatus();
    PS_RETURN_IF_ERROR(work_->Begin());
    const cudaError_t launched = std::visit(
        [&](const auto& element) {
          using Element = std::decay_t<decltype(element)>;
          return LaunchFours(StepFour<Element>{element, arrays}, n,
                             work_->stream());
        },
        rule);
    PS_RETURN_IF_ERROR(CudaToStatus(launched, "LaunchFours"));
    return work_->End();
  }

 private:
  SparseWork* const work_;  // Not owned.
};

}  // namespace

PS_REGISTER_ON_DEVICE(DeviceStep, DeviceStepImpl);

}  // namespace ps
