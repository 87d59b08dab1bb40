// The step of a worker's own optimizer for one element: like an update, but
// what the weight has moved takes the place of the gradient.
#ifndef OPTIMIZERS_ELEMENT_STEP_H_
#define OPTIMIZERS_ELEMENT_STEP_H_

#include <cstdint>

#include "common/host_device.h"
#include "optimizers/elements.h"

namespace ps {

constexpr int kMaxElementStates = 2;

// Arrays of as many elements as a step has, in the memory of the host or of a
// device. They do not overlap.
struct StepArrays {
  float* gradient = nullptr;
  float* weights = nullptr;
  float* states[kMaxElementStates] = {};  // As many as the rule has.
};

// Moves weights[i] by the rule, and replaces gradient[i] with how far it has
// moved as rounded there, before - after. first and second: the rule's states.
template <class Element>
PS_HOST_DEVICE inline void StepElement(const Element& element, int64_t i,
                                       float* gradient, float* weights,
                                       float* first, float* second) {
  const float before = weights[i];
  float w = before;
  if constexpr (Element::kStates == 0) {
    element(gradient[i], &w);
  } else if constexpr (Element::kStates == 1) {
    element(gradient[i], &w, first + i);
  } else {
    element(gradient[i], &w, first + i, second + i);
  }
  weights[i] = w;
  gradient[i] = before - w;
}

}  // namespace ps

#endif  // OPTIMIZERS_ELEMENT_STEP_H_
