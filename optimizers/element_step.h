// Makes the step of a worker's own optimizer for one element: like an update,
// but the weight's change replaces the gradient.
#ifndef OPTIMIZERS_ELEMENT_STEP_H_
#define OPTIMIZERS_ELEMENT_STEP_H_

#include <cstdint>

#include "common/host_device.h"
#include "optimizers/elements.h"

namespace ps {

constexpr int kMaxElementStates = 2;

// Arrays with one element for each element of a step, in the memory of the host
// or of a device. They do not overlap.
struct StepArrays {
  float* gradient = nullptr;
  float* weights = nullptr;
  // One array for each state of the rule.
  float* states[kMaxElementStates] = {};
  float share = 1;  // The share of the step by which the weights move.
};

// Replaces gradient[i] with the rule's step, by which it would move weights[i],
// before - after as rounded there, and moves weights[i] by `share` of it. first
// and second: the rule's states.
template <class Element>
PS_HOST_DEVICE inline void StepElement(const Element& element, int64_t i,
                                       float share, float* gradient,
                                       float* weights, float* first,
                                       float* second) {
  const float before = weights[i];
  float w = before;
  if constexpr (Element::kStates == 0) {
    element(gradient[i], &w);
  } else if constexpr (Element::kStates == 1) {
    element(gradient[i], &w, first + i);
  } else {
    element(gradient[i], &w, first + i, second + i);
  }
  const float step = before - w;
  weights[i] = before - share * step;
  gradient[i] = step;
}

}  // namespace ps

#endif  // OPTIMIZERS_ELEMENT_STEP_H_
