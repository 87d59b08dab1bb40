#include "compressors/value_codes/float_loops.h"

#include <cmath>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/value_codes/float_loops.cc"
#include "hwy/foreach_target.h"
// Must follow foreach_target.h, which must be first.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ps {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void AddFloatBytes(const uint8_t* HWY_RESTRICT bytes, int64_t n,
                   float* HWY_RESTRICT sum) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> d;
  const hn::Repartition<uint8_t, decltype(d)> bytes_tag;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes <= n; i += lanes) {
    // Loads bytes, since reading a float at an unaligned address is undefined.
    const auto x =
        hn::BitCast(d, hn::LoadU(bytes_tag, bytes + i * sizeof(float)));
    hn::StoreU(hn::Add(hn::LoadU(d, sum + i), x), d, sum + i);
  }
#endif
  for (; i < n; ++i) {
    float x;
    std::memcpy(&x, bytes + i * sizeof(float), sizeof(x));
    sum[i] += x;
  }
}

bool AllFinite(const uint8_t* bytes, int64_t n) {
  bool finite = true;
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> d;
  const hn::Repartition<uint8_t, decltype(d)> bytes_tag;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto zero = hn::Zero(d);
  for (; i + lanes <= n; i += lanes) {
    const auto x =
        hn::BitCast(d, hn::LoadU(bytes_tag, bytes + i * sizeof(float)));
    // 0 x NaN and 0 x infinity are NaN, and a sum with a NaN stays one.
    zero = hn::Add(zero, hn::Mul(hn::Zero(d), x));
  }
  finite = hn::AllTrue(d, zero == hn::Zero(d));
#endif
  for (; i < n; ++i) {
    float x;
    std::memcpy(&x, bytes + i * sizeof(float), sizeof(x));
    finite &= std::isfinite(x);
  }
  return finite;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ps {

HWY_EXPORT(AddFloatBytes);
HWY_EXPORT(AllFinite);

void AddFloatBytes(const uint8_t* bytes, int64_t n, float* sum) {
  HWY_DYNAMIC_DISPATCH(AddFloatBytes)(bytes, n, sum);
}

bool AllFinite(const uint8_t* bytes, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(AllFinite)(bytes, n);
}

}  // namespace ps

#endif  // HWY_ONCE
