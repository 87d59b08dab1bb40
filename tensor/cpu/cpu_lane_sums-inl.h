// Computes sums and ranges of magnitudes, one vector at a time.
//
// Compiled once for each target of Highway, hence the toggling include guard.
#if defined(TENSOR_CPU_CPU_LANE_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSOR_CPU_CPU_LANE_SUMS_INL_H_
#undef TENSOR_CPU_CPU_LANE_SUMS_INL_H_
#else
#define TENSOR_CPU_CPU_LANE_SUMS_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "tensor/cpu/cpu_magnitude_loops.h"
#include "tensor/sparse_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace ps {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using DoubleTag = hn::ScalableTag<double>;
using IntTag = hn::RebindToSigned<FloatTag>;
using UintTag = hn::RebindToUnsigned<FloatTag>;
using Floats = hn::Vec<FloatTag>;
using Doubles = hn::Vec<DoubleTag>;

constexpr int kFloatLanes = HWY_LANES(float);
// The number of vectors in a group of kSumLanes elements.
constexpr int kFloatVectors = kSumLanes / kFloatLanes;
constexpr int kDoubleVectors = kSumLanes / HWY_LANES(double);

// The sums of y and y^2 in kSumLanes lanes.
class LaneSums {
 public:
  HWY_INLINE LaneSums() {
#pragma GCC unroll 16
    for (int i = 0; i < kDoubleVectors; ++i) {
      sum_[i] = sum_squares_[i] = hn::Zero(DoubleTag());
    }
  }

  // Adds y = values - location, for vector v of a group.
  HWY_INLINE void Add(int v, Floats values, Doubles location) {
    const DoubleTag d;
#if HWY_TARGET == HWY_SCALAR
    AddDoubles(v, hn::Sub(hn::PromoteTo(d, values), location));
#else
    const hn::Half<FloatTag> dh;
    AddDoubles(2 * v,
               hn::Sub(hn::PromoteTo(d, hn::LowerHalf(dh, values)), location));
    AddDoubles(2 * v + 1,
               hn::Sub(hn::PromoteTo(d, hn::UpperHalf(dh, values)), location));
#endif
  }

  // Adds up the lanes and the last n < kSumLanes elements of the chunk.
  void Finish(const double* tail, int64_t n, double* sum,
              double* sum_squares) const {
    const DoubleTag d;
    double lanes[kSumLanes];
    double square_lanes[kSumLanes];
    for (int i = 0; i < kDoubleVectors; ++i) {
      hn::StoreU(sum_[i], d, lanes + i * HWY_LANES(double));
      hn::StoreU(sum_squares_[i], d, square_lanes + i * HWY_LANES(double));
    }
    *sum = *sum_squares = 0;
    for (int i = 0; i < kSumLanes; ++i) {
      const double y = i < n ? tail[i] : 0;
      *sum += lanes[i] + y;
      *sum_squares += square_lanes[i] + y * y;
    }
  }

 private:
  HWY_INLINE void AddDoubles(int i, Doubles y) {
    sum_[i] = hn::Add(sum_[i], y);
    // MulAdd is not used: on targets without a fused instruction the result
    // would differ.
    sum_squares_[i] = hn::Add(sum_squares_[i], hn::Mul(y, y));
  }

  Doubles sum_[kDoubleVectors];
  Doubles sum_squares_[kDoubleVectors];
};

// The largest and the smallest non-zero magnitude, and the number of zeros. It
// compares bits, since an integer comparison orders NaNs above everything.
class MagnitudeRange {
 public:
  // This is written out, since a compiler-generated constructor would not be
  // compiled for the target.
  HWY_INLINE MagnitudeRange()
      : max_(hn::Zero(IntTag())),
        min_less_one_(hn::Set(UintTag(), std::numeric_limits<uint32_t>::max())),
        zeros_(hn::Zero(IntTag())) {}

  HWY_INLINE void Add(Floats a) {
    const auto bits = hn::BitCast(UintTag(), a);
    const auto signed_bits = hn::BitCast(IntTag(), a);
    max_ = hn::Max(max_, signed_bits);
    // 0 wraps round to the largest integer.
    min_less_one_ =
        hn::Min(min_less_one_, hn::Sub(bits, hn::Set(UintTag(), 1)));
    zeros_ = hn::Sub(
        zeros_, hn::VecFromMask(IntTag(), signed_bits == hn::Zero(IntTag())));
  }

  // Finishes the chunk. `tail`: elements of the chunk that Add has not seen.
  void Finish(const float* tail, int64_t tail_size, int64_t n,
              Moments* moments) const {
    int32_t max[kFloatLanes];
    uint32_t min_less_one[kFloatLanes];
    int32_t zeros[kFloatLanes];
    hn::StoreU(max_, IntTag(), max);
    hn::StoreU(min_less_one_, UintTag(), min_less_one);
    hn::StoreU(zeros_, IntTag(), zeros);
    uint32_t all_max = 0;
    uint32_t all_min_less_one = std::numeric_limits<uint32_t>::max();
    moments->num_nonzero = n;
    for (int i = 0; i < kFloatLanes; ++i) {
      all_max = std::max(all_max, static_cast<uint32_t>(max[i]));
      all_min_less_one = std::min(all_min_less_one, min_less_one[i]);
      moments->num_nonzero -= zeros[i];
    }
    for (int64_t i = 0; i < tail_size; ++i) {
      const uint32_t bits = MagnitudeBits(tail[i]);
      all_max = std::max(all_max, bits);
      all_min_less_one = std::min(all_min_less_one, bits - 1);
      if (bits == 0) --moments->num_nonzero;
    }
    moments->max = MagnitudeFromBits(all_max);
    moments->min_nonzero = MagnitudeFromBits(all_min_less_one + 1);
  }

 private:
  hn::Vec<IntTag> max_;
  hn::Vec<UintTag> min_less_one_;
  hn::Vec<IntTag> zeros_;
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ps
HWY_AFTER_NAMESPACE();

#endif  // TENSOR_CPU_CPU_LANE_SUMS_INL_H_
