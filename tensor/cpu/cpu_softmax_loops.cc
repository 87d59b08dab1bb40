#include "tensor/cpu/cpu_softmax_loops.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/cpu/cpu_softmax_loops.cc"
#include "hwy/foreach_target.h"
// This must come after foreach_target.h, which must be first.
#include "hwy/highway.h"
#include "tensor/cpu/cpu_activations-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ps {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The number of logits whose exponentials are added up as floats.
constexpr int64_t kBlock = 512;

using OneLane = hn::CappedTag<float, 1>;

// Finds the largest logit, and how many logits exceed the label's.
class Ranking {
 public:
  explicit HWY_INLINE Ranking(const float* logits)
      : logits_(logits), max_(logits[0]) {}

  // Adds the elements [begin, end). A NaN exceeds everything.
  template <bool kEqualExceeds>
  HWY_INLINE void Add(int64_t begin, int64_t end, float label) {
    const hn::ScalableTag<float> d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    auto max = hn::Set(d, max_);
    int64_t c = begin;
    for (; c + lanes <= end; c += lanes) {
      const auto x = hn::LoadU(d, logits_ + c);
      max = hn::Max(max, x);
      rank_ += Exceeding<kEqualExceeds>(d, x, label);
    }
    max_ = hn::GetLane(hn::MaxOfLanes(d, max));
    for (; c < end; ++c) {
      max_ = std::max(max_, logits_[c]);
      rank_ += Exceeding<kEqualExceeds>(
          OneLane(), hn::LoadU(OneLane(), logits_ + c), label);
    }
  }

  HWY_INLINE float max() const { return max_; }
  HWY_INLINE int64_t rank() const { return rank_; }

 private:
  template <bool kEqualExceeds, class D, class V>
  static HWY_INLINE int64_t Exceeding(D d, V x, float label) {
    const auto limit = hn::Set(d, label);
    const auto below = kEqualExceeds ? hn::Lt(x, limit) : hn::Le(x, limit);
    return static_cast<int64_t>(hn::CountTrue(d, hn::Not(below)));
  }

  const float* const logits_;
  float max_;
  int64_t rank_ = 0;
};

// Returns exp(x - max), or 0 if that is below the smallest normal number.
template <class D>
HWY_INLINE hn::Vec<D> ShiftedExp(D d, const float* x, float max) {
  const auto shifted = hn::Sub(hn::LoadU(d, x), hn::Set(d, max));
  return hn::IfThenZeroElse(hn::Lt(shifted, hn::Set(d, -87.3f)),
                            Exp(d, shifted));
}

// Returns the sum of exp(x[i] - max); writes the summands to a non-null `out`.
template <bool kWrite>
HWY_INLINE double SumOfExps(const float* x, int64_t n, float max, float* out) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  double sum = 0;
  int64_t i = 0;
  while (i + lanes <= n) {
    auto block_sum = hn::Zero(d);
    for (const int64_t end = std::min(n, i + kBlock); i + lanes <= end;
         i += lanes) {
      const auto e = ShiftedExp(d, x + i, max);
      if (kWrite) hn::StoreU(e, d, out + i);
      block_sum = hn::Add(block_sum, e);
    }
    sum += hn::GetLane(hn::SumOfLanes(d, block_sum));
  }
  for (; i < n; ++i) {
    const float e = hn::GetLane(ShiftedExp(OneLane(), x + i, max));
    if (kWrite) out[i] = e;
    sum += e;
  }
  return sum;
}

void Scale(float scale, int64_t n, float* x) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, scale)), d, x + i);
  }
  for (; i < n; ++i) x[i] *= scale;
}

SoftmaxResult RunSoftmax(const SoftmaxRow& row) {
  const float label_logit = row.logits[row.label];
  Ranking ranking(row.logits);
  ranking.Add</*kEqualExceeds=*/true>(0, row.label, label_logit);
  ranking.Add</*kEqualExceeds=*/false>(row.label, row.classes, label_logit);
  // Subtracting the maximum keeps exp from overflowing.
  const float max = ranking.max();
  const bool write = row.gradient != nullptr;
  const double sum =
      write ? SumOfExps<true>(row.logits, row.classes, max, row.gradient)
            : SumOfExps<false>(row.logits, row.classes, max, nullptr);
  if (write) {
    Scale(static_cast<float>(row.gradient_scale / sum), row.classes,
          row.gradient);
    row.gradient[row.label] -= row.gradient_scale;
  }
  SoftmaxResult result;
  result.loss = std::log(sum) + (double{max} - double{label_logit});
  result.rank = ranking.rank();
  return result;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ps {

HWY_EXPORT(RunSoftmax);

SoftmaxResult Softmax(const SoftmaxRow& row) {
  return HWY_DYNAMIC_DISPATCH(RunSoftmax)(row);
}

}  // namespace ps

#endif  // HWY_ONCE
