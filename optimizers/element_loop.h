// Loops over elements for rules that treat each element separately.
//
// Step and StepTouched of a rule use the same function, so that an update which
// touches every element gives the same bits either way.
#ifndef OPTIMIZERS_ELEMENT_LOOP_H_
#define OPTIMIZERS_ELEMENT_LOOP_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"

namespace ps {

// Calls element(gradient[i], &weights[i], &state[i]...) for i in [0, n). The
// arrays do not overlap. `element` is a copy, so that its constants stay in
// registers.
template <typename Element, typename... Float>
void ForPiece(const Element element, int64_t n,
              const float* __restrict gradient, float* __restrict weights,
              Float* __restrict... state) {
  for (int64_t i = 0; i < n; ++i) {
    element(gradient[i], &weights[i], &state[i]...);
  }
}

// Calls element(gradient[k], &weights[i], &state[i]...) for i = indices[k]. The
// elements are far apart, and few of them are in the cache: they are asked for
// some time before.
template <typename Element, typename... Float>
void ForTouched(const Element element, absl::Span<const uint32_t> indices,
                const float* __restrict gradient, float* __restrict weights,
                Float* __restrict... state) {
  for (size_t k = 0; k < indices.size(); ++k) {
    constexpr size_t kAhead = 16;
    const uint32_t i = indices[k];
    const uint32_t later = indices[std::min(k + kAhead, indices.size() - 1)];
    __builtin_prefetch(&weights[later], /*rw=*/1);
    (__builtin_prefetch(&state[later], /*rw=*/1), ...);
    element(gradient[k], &weights[i], &state[i]...);
  }
}

}  // namespace ps

#endif  // OPTIMIZERS_ELEMENT_LOOP_H_
