#include "tensor/cpu/cpu_dropout_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/cpu/cpu_dropout_loops.cc"
#include "hwy/foreach_target.h"
// This must come after foreach_target.h, which must be first.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ps {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Mixes 32-bit words by a bijection in which every input bit affects every
// output bit (the form of MurmurHash3's finaliser, with the shifts and
// multipliers found by C. Wellons's search, "Prospecting for hash functions",
// 2018).
template <typename D, typename V>
HWY_INLINE V Mix32(D d, V x) {
  x = hn::Xor(x, hn::ShiftRight<16>(x));
  x = hn::Mul(x, hn::Set(d, 0x7feb352du));
  x = hn::Xor(x, hn::ShiftRight<15>(x));
  x = hn::Mul(x, hn::Set(d, 0x846ca68bu));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

// Processes the elements from i on, one for each lane of the tag.
template <typename D>
HWY_INLINE void DropOutAt(D d, const DropoutChunk& chunk, int64_t i,
                          const float* x, float* y) {
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  const auto low = hn::Set(du, static_cast<uint32_t>(chunk.key));
  const auto high = hn::Set(du, static_cast<uint32_t>(chunk.key >> 32));
  const auto number = hn::Iota(du, static_cast<uint32_t>(i));
  // Two mixes, with the two halves of the key, keep keys from giving the same
  // draws in another order.
  const auto hash = Mix32(du, hn::Add(Mix32(du, hn::Xor(number, low)), high));
  const auto draw =
      hn::BitCast(di, hn::ShiftRight<32 - kDropoutDrawBits>(hash));
  const auto dropped =
      hn::RebindMask(d, hn::Lt(draw, hn::Set(di, chunk.drop_below)));
  const auto scaled = hn::Mul(hn::LoadU(d, x + i), hn::Set(d, chunk.scale));
  hn::StoreU(hn::IfThenZeroElse(dropped, scaled), d, y + i);
}

void DropOut(const DropoutChunk& chunk, const float* x, int64_t n, float* y) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) DropOutAt(d, chunk, i, x, y);
  for (; i < n; ++i) DropOutAt(hn::CappedTag<float, 1>(), chunk, i, x, y);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ps {

HWY_EXPORT(DropOut);

void DropOut(const DropoutChunk& chunk, const float* x, int64_t n, float* y) {
  HWY_DYNAMIC_DISPATCH(DropOut)(chunk, x, n, y);
}

}  // namespace ps

#endif  // HWY_ONCE
