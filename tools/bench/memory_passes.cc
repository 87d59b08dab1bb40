#include "tools/bench/memory_passes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tools/bench/memory_passes.cc"
#include "hwy/foreach_target.h"
// Must come after foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ps {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void AddPass(const float* HWY_RESTRICT x, int64_t n, float* HWY_RESTRICT sum) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::Add(hn::LoadU(d, sum + i), hn::LoadU(d, x + i)), d, sum + i);
  }
  for (; i < n; ++i) sum[i] += x[i];
}

double SumMagnitudesPass(const float* HWY_RESTRICT x, int64_t n) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  // With four sums an addition need not wait for the one before it.
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  auto sum2 = hn::Zero(d);
  auto sum3 = hn::Zero(d);
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    sum0 = hn::Add(sum0, hn::Abs(hn::LoadU(d, x + i)));
    sum1 = hn::Add(sum1, hn::Abs(hn::LoadU(d, x + i + lanes)));
    sum2 = hn::Add(sum2, hn::Abs(hn::LoadU(d, x + i + 2 * lanes)));
    sum3 = hn::Add(sum3, hn::Abs(hn::LoadU(d, x + i + 3 * lanes)));
  }
  const auto all = hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3));
  double total = hn::GetLane(hn::SumOfLanes(d, all));
  for (; i < n; ++i) total += x[i] < 0 ? -x[i] : x[i];
  return total;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ps {

HWY_EXPORT(AddPass);
HWY_EXPORT(SumMagnitudesPass);

void AddPass(const float* x, int64_t n, float* sum) {
  HWY_DYNAMIC_DISPATCH(AddPass)(x, n, sum);
}

double SumMagnitudesPass(const float* x, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(SumMagnitudesPass)(x, n);
}

}  // namespace ps

#endif  // HWY_ONCE
