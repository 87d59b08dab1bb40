#include "tensor/cpu/cpu_relu_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/cpu/cpu_relu_loops.cc"
#include "hwy/foreach_target.h"
// This must come after foreach_target.h, which must be first.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ps {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Returns `value` where `sign` is above 0 or NaN, else 0: comparisons with NaN
// are false.
template <typename D, typename V>
HWY_INLINE V WherePasses(D d, V sign, V value) {
  return hn::IfThenZeroElse(hn::Le(sign, hn::Zero(d)), value);
}

// Processes the elements from i on, one for each lane of the tag.
template <typename D>
HWY_INLINE void GradientAt(D d, const float* y, const float* dy, int64_t i,
                           float* dx) {
  hn::StoreU(WherePasses(d, hn::LoadU(d, y + i), hn::LoadU(d, dy + i)), d,
             dx + i);
}

void ReluGradient(const float* y, const float* dy, int64_t n, float* dx) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) GradientAt(d, y, dy, i, dx);
  for (; i < n; ++i) GradientAt(hn::CappedTag<float, 1>(), y, dy, i, dx);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ps {

HWY_EXPORT(ReluGradient);

void ReluGradient(const float* y, const float* dy, int64_t n, float* dx) {
  HWY_DYNAMIC_DISPATCH(ReluGradient)(y, dy, n, dx);
}

// The condition on the sign is the same for both.
void Relu(const float* x, int64_t n, float* y) { ReluGradient(x, x, n, y); }

}  // namespace ps

#endif  // HWY_ONCE
