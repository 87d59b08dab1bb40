#include "tensor/cpu/cpu_scaling_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/cpu/cpu_scaling_loops.cc"
#include "hwy/foreach_target.h"
// This must come after foreach_target.h, which must be first.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ps {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void ScaleChunk(const ScaledVector& x, int64_t n, float* out) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto scale = hn::Set(d, x.scale);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::Mul(scale, hn::LoadU(d, x.data + i)), d, out + i);
  }
  for (; i < n; ++i) out[i] = x.scale * x.data[i];
}

// Avoids MulAdd: without a fused instruction the result would differ.
void AddScaledChunk(const ScaledVector& x, const ScaledVector& y, int64_t n,
                    float* out) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto x_scale = hn::Set(d, x.scale);
  const auto y_scale = hn::Set(d, y.scale);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::Add(hn::Mul(x_scale, hn::LoadU(d, x.data + i)),
                       hn::Mul(y_scale, hn::LoadU(d, y.data + i))),
               d, out + i);
  }
  for (; i < n; ++i) out[i] = x.scale * x.data[i] + y.scale * y.data[i];
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ps {

HWY_EXPORT(ScaleChunk);
HWY_EXPORT(AddScaledChunk);

void ScaleChunk(const ScaledVector& x, int64_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(ScaleChunk)(x, n, out);
}

void AddScaledChunk(const ScaledVector& x, const ScaledVector& y, int64_t n,
                    float* out) {
  HWY_DYNAMIC_DISPATCH(AddScaledChunk)(x, y, n, out);
}

}  // namespace ps

#endif  // HWY_ONCE
