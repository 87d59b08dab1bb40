#include "tensor/cpu/cpu_ctc_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/cpu/cpu_ctc_loops.cc"
#include "hwy/foreach_target.h"
// This must come after foreach_target.h, which must be first.
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ps {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, kCtcLanes>;

void CtcAdvance(const CtcRow& row, int64_t n, double* out) {
  const Doubles d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < n; i += lanes) {
    const auto stay = hn::LoadU(d, row.stay + i);
    const auto step = hn::LoadU(d, row.step + i);
    const auto skip =
        hn::Add(hn::LoadU(d, row.skip + i), hn::LoadU(d, row.skip_weight + i));
    // The largest of the three gives e^0, so the logarithm's argument is in
    // [1, 3].
    const auto max = hn::Max(hn::Max(stay, step), skip);
    const auto sum = hn::Add(
        hn::Add(hn::Exp(d, hn::Sub(stay, max)), hn::Exp(d, hn::Sub(step, max))),
        hn::Exp(d, hn::Sub(skip, max)));
    hn::StoreU(
        hn::Add(hn::Add(max, hn::Log(d, sum)), hn::LoadU(d, row.emission + i)),
        d, out + i);
  }
}

void CtcShares(const CtcMeeting& meeting, int64_t n, double* out) {
  const Doubles d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto log_total = hn::Set(d, meeting.log_total);
  for (int64_t i = 0; i < n; i += lanes) {
    // This order adds only one of two large numbers that nearly cancel at a
    // time.
    const auto backward = hn::Sub(hn::LoadU(d, meeting.backward + i),
                                  hn::LoadU(d, meeting.emission + i));
    const auto forward = hn::Sub(hn::LoadU(d, meeting.forward + i), log_total);
    hn::StoreU(hn::Exp(d, hn::Add(forward, backward)), d, out + i);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ps {

HWY_EXPORT(CtcAdvance);
HWY_EXPORT(CtcShares);

void CtcAdvance(const CtcRow& row, int64_t n, double* out) {
  HWY_DYNAMIC_DISPATCH(CtcAdvance)(row, n, out);
}

void CtcShares(const CtcMeeting& meeting, int64_t n, double* out) {
  HWY_DYNAMIC_DISPATCH(CtcShares)(meeting, n, out);
}

}  // namespace ps

#endif  // HWY_ONCE
