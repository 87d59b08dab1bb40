#include "optimizers/element_rule.h"

namespace ps {
namespace {

// Constants in registers and arrays that do not overlap become vector loops.
template <class Element>
void StepAll(const Element element, int64_t n, float share,
             float* __restrict gradient, float* __restrict weights,
             float* __restrict first, float* __restrict second) {
  for (int64_t i = 0; i < n; ++i) {
    StepElement(element, i, share, gradient, weights, first, second);
  }
}

}  // namespace

void StepElements(const ElementRule& rule, const StepArrays& arrays,
                  int64_t n) {
  std::visit(
      [&](const auto& element) {
        StepAll(element, n, arrays.share, arrays.gradient, arrays.weights,
                arrays.states[0], arrays.states[1]);
      },
      rule);
}

}  // namespace ps
