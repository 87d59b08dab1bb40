// Launches the kernel that takes the steps of a worker's own optimizer. nvcc
// compiles this header, so it includes no Abseil.
#ifndef OPTIMIZERS_CUDA_STEP_LAUNCH_H_
#define OPTIMIZERS_CUDA_STEP_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "optimizers/element_step.h"

namespace ps {

// The steps of all elements of the arrays.
template <class Element>
struct StepElementOf {
  Element element;
  StepArrays arrays;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    StepElement(element, i, arrays.share, arrays.gradient, arrays.weights,
                arrays.states[0], arrays.states[1]);
  }
};

// Queues the steps of n elements, at least 1, on `stream` and returns at once,
// with the error of the launch.
template <class Element>
cudaError_t LaunchSteps(const StepElementOf<Element>& step, int64_t n,
                        cudaStream_t stream);

// Use at the end of a file that defines the function.
#define PS_INSTANTIATE_STEPS_OF(Element)                                   \
  template cudaError_t LaunchSteps<Element>(const StepElementOf<Element>&, \
                                            int64_t, cudaStream_t)
#define PS_INSTANTIATE_STEPS()                     \
  PS_INSTANTIATE_STEPS_OF(SgdElement);             \
  PS_INSTANTIATE_STEPS_OF(MomentumElement<false>); \
  PS_INSTANTIATE_STEPS_OF(MomentumElement<true>);  \
  PS_INSTANTIATE_STEPS_OF(AdagradElement);         \
  PS_INSTANTIATE_STEPS_OF(AdamElement)

}  // namespace ps

#endif  // OPTIMIZERS_CUDA_STEP_LAUNCH_H_
