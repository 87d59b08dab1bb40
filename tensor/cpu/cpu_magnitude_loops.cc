#include "tensor/cpu/cpu_magnitude_loops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

// The lanes of a sum are held in arrays of vectors, which needs vectors of a
// size known to the compiler; on ARM, NEON is used instead of these.
#define HWY_DISABLED_TARGETS \
  (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/cpu/cpu_magnitude_loops.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h, which must be first.
#include "hwy/cache_control.h"
#include "hwy/highway.h"

#ifndef TENSOR_CPU_CPU_MAGNITUDE_LOOPS_ONCE_
#define TENSOR_CPU_CPU_MAGNITUDE_LOOPS_ONCE_
namespace ps {
namespace {

// nibbles[mask]: the numbers of the set bits of an 8-bit mask, four bits each,
// from the lowest on.
struct PackedLaneTable {
  constexpr PackedLaneTable() : nibbles() {
    for (uint32_t mask = 0; mask < 256; ++mask) {
      int shift = 0;
      for (uint32_t lane = 0; lane < 8; ++lane) {
        if ((mask >> lane & 1) == 0) continue;
        nibbles[mask] |= lane << shift;
        shift += 4;
      }
    }
  }
  uint32_t nibbles[256];
};
[[maybe_unused]] constexpr PackedLaneTable kPackedLanes;

}  // namespace
}  // namespace ps
#endif  // TENSOR_CPU_CPU_MAGNITUDE_LOOPS_ONCE_

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
// Vectors in a group, which is kSumLanes elements.
constexpr int kFloatVectors = kSumLanes / kFloatLanes;
constexpr int kDoubleVectors = kSumLanes / HWY_LANES(double);
constexpr int kDoublesPerFloats = kDoubleVectors / kFloatVectors;

constexpr uint32_t kInfinityBits = 0x7f800000;
// Elements that are looked at for the list while they are in the L1 cache.
constexpr int64_t kTile = 64 * kSumLanes;

uint32_t MagnitudeBits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits & 0x7fffffff;
}

float FromBits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

// Sums of y and y^2 in kSumLanes lanes.
class LaneSums {
 public:
  HWY_INLINE LaneSums() {
#pragma GCC unroll 16
    for (int i = 0; i < kDoubleVectors; ++i) {
      sum_[i] = sum_squares_[i] = hn::Zero(DoubleTag());
    }
  }

  // y = values - location, for vector v of a group.
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

  // Adds the lanes up, and the last elements of the chunk: n < kSumLanes.
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
    // Not MulAdd: where there is none, the result would be another.
    sum_squares_[i] = hn::Add(sum_squares_[i], hn::Mul(y, y));
  }

  Doubles sum_[kDoubleVectors];
  Doubles sum_squares_[kDoubleVectors];
};

// Largest and smallest non-zero magnitude, and how many are zero. By their
// bits: an integer comparison orders NaNs above everything.
class MagnitudeRange {
 public:
  // Written out, since a constructor that the compiler makes would not be
  // compiled for the target.
  HWY_INLINE MagnitudeRange()
      : max_(hn::Zero(IntTag())),
        min_less_one_(hn::Set(UintTag(), std::numeric_limits<uint32_t>::max())),
        zeros_(hn::Zero(IntTag())) {}

  HWY_INLINE void Add(Floats a) {
    const auto bits = hn::BitCast(UintTag(), a);
    const auto signed_bits = hn::BitCast(IntTag(), a);
    max_ = hn::Max(max_, signed_bits);
    // 0 wraps round to the largest.
    min_less_one_ =
        hn::Min(min_less_one_, hn::Sub(bits, hn::Set(UintTag(), 1)));
    zeros_ = hn::Sub(
        zeros_, hn::VecFromMask(IntTag(), signed_bits == hn::Zero(IntTag())));
  }

  // `tail`: elements of the chunk that Add has not seen.
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
    moments->max = FromBits(all_max);
    moments->min_nonzero = FromBits(all_min_less_one + 1);
  }

 private:
  hn::Vec<IntTag> max_;
  hn::Vec<UintTag> min_less_one_;
  hn::Vec<IntTag> zeros_;
};

template <bool kStream>
void AddAndMeasureLoop(const float* HWY_RESTRICT residual,
                       const float* HWY_RESTRICT gradient, int64_t n,
                       float* HWY_RESTRICT out, Moments* moments) {
  const FloatTag d;
  const auto zero = hn::Zero(DoubleTag());
  LaneSums sums;
  MagnitudeRange range;
  const int64_t whole = n / kSumLanes * kSumLanes;
  for (int64_t i = 0; i < whole; i += kSumLanes) {
#pragma GCC unroll 16
    for (int v = 0; v < kFloatVectors; ++v) {
      const int64_t j = i + v * kFloatLanes;
      const auto u =
          hn::Add(hn::LoadU(d, residual + j), hn::LoadU(d, gradient + j));
      if (kStream) {
        hn::Stream(u, d, out + j);
      } else {
        hn::StoreU(u, d, out + j);
      }
      const auto a = hn::Abs(u);
      range.Add(a);
      sums.Add(v, a, zero);
    }
  }
  double tail[kSumLanes];
  for (int64_t i = whole; i < n; ++i) {
    out[i] = residual[i] + gradient[i];
    tail[i - whole] = std::fabs(out[i]);
  }
  range.Finish(out + whole, n - whole, n, moments);
  sums.Finish(tail, n - whole, &moments->sum, &moments->sum_squares);
  if (kStream) hwy::FlushStream();
}

void AddAndMeasureChunk(const float* residual, const float* gradient, int64_t n,
                        bool stream, float* out, Moments* moments) {
  if (stream) {
    AddAndMeasureLoop<true>(residual, gradient, n, out, moments);
  } else {
    AddAndMeasureLoop<false>(residual, gradient, n, out, moments);
  }
  moments->num_non_finite = 0;
  if (MagnitudeBits(moments->max) < kInfinityBits) return;
  for (int64_t i = 0; i < n; ++i) {
    if (MagnitudeBits(out[i]) >= kInfinityBits) ++moments->num_non_finite;
  }
}

// Where the set lanes of a mask are, as the index that brings them together.
class PackedLanes {
 public:
  explicit HWY_INLINE PackedLanes(hn::Mask<FloatTag> mask) : mask_(mask) {
    uint8_t bits[8] = {};
    hn::StoreMaskBits(FloatTag(), mask, bits);
    bits_ = bits[0] | bits[1] << 8;
  }

  HWY_INLINE int64_t count() const { return hwy::PopCount(bits_); }

  // The set lanes of v first; what follows them is of no meaning.
  template <class D>
  HWY_INLINE hn::Vec<D> Pack(D d, hn::Vec<D> v) const {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET <= HWY_AVX3
    return hn::Compress(v, hn::RebindMask(d, mask_));
#else
    // Highway 1.0.3's Compress makes GCC copy its table to the stack each time.
    alignas(32) static constexpr uint32_t kShifts[8] = {0,  4,  8,  12,
                                                        16, 20, 24, 28};
    const UintTag du;
    const auto nibbles = hn::Set(du, kPackedLanes.nibbles[bits_]);
    const auto lanes = hn::And(hn::Shr(nibbles, hn::Load(du, kShifts)),
                               hn::Set(du, kFloatLanes - 1));
    return hn::TableLookupLanes(v, hn::IndicesFromVec(d, lanes));
#endif
  }

 private:
  hn::Mask<FloatTag> mask_;
  uint32_t bits_;
};

// A list that is written to whole vectors at a time.
struct ListEnd {
  float* values;
  uint32_t* indices;
};

HWY_INLINE ListEnd End(ChunkList* list, int64_t size) {
  return {list->values.data() + size, list->indices.data() + size};
}

// Writes those of the vector at position i of `source` whose magnitude is above
// `threshold`, and returns how many they are.
template <bool kListed>
HWY_INLINE int64_t PutAbove(const ChunkSource& source, int64_t i,
                            hn::Vec<FloatTag> threshold, const ListEnd& end) {
  const FloatTag d;
  const UintTag du;
  const auto u = hn::LoadU(d, source.values + i);
  const PackedLanes lanes(hn::Abs(u) > threshold);
  const auto index =
      kListed ? hn::LoadU(du, source.indices + i)
              : hn::Iota(du, source.first_index + static_cast<uint32_t>(i));
  // Not CompressStore, which is slow to memory on some machines.
  hn::StoreU(lanes.Pack(d, u), d, end.values);
  hn::StoreU(lanes.Pack(du, index), du, end.indices);
  return lanes.count();
}

// The same for one element.
HWY_INLINE int64_t PutOneAbove(const ChunkSource& source, int64_t i,
                               float threshold, const ListEnd& end) {
  if (!(std::fabs(source.values[i]) > threshold)) return 0;
  *end.values = source.values[i];
  *end.indices = source.indices != nullptr
                     ? source.indices[i]
                     : source.first_index + static_cast<uint32_t>(i);
  return 1;
}

// The groups of a tile that hold something to be listed. First noted, then
// listed: which groups they are is hard to predict, so a branch for each would
// cost more than all the rest.
class NotedGroups {
 public:
  explicit HWY_INLINE NotedGroups(float threshold)
      : threshold_(hn::Set(FloatTag(), threshold)) {}

  // `begin`: the group's first position; `max`: lane-wise maximum magnitude.
  HWY_INLINE void Note(int64_t begin, Floats max) {
    begins_[size_] = begin;
    size_ += hn::AllFalse(FloatTag(), max > threshold_) ? 0 : 1;
  }

  // Appends what is above the threshold, and forgets the groups.
  template <bool kListed>
  HWY_INLINE void List(const ChunkSource& source, ChunkList* list) {
    list->Reserve(list->size, size_ * kSumLanes);
    int64_t listed = list->size;
    for (int g = 0; g < size_; ++g) {
#pragma GCC unroll 16
      for (int v = 0; v < kFloatVectors; ++v) {
        listed += PutAbove<kListed>(source, begins_[g] + v * kFloatLanes,
                                    threshold_, End(list, listed));
      }
    }
    list->size = listed;
    size_ = 0;
  }

 private:
  const Floats threshold_;
  int size_ = 0;
  int64_t begins_[kTile / kSumLanes + 1];
};

void MeasureVector(const ChunkSource& source, float location, float keep_above,
                   Exceedances* result, ChunkList* kept) {
  const FloatTag d;
  const IntTag di;
  const auto low = hn::Set(d, location);
  const auto double_location = hn::Set(DoubleTag(), double{location});
  LaneSums sums;
  auto minus_count = hn::Zero(di);
  NotedGroups noted(keep_above);
  const int64_t whole = source.n / kSumLanes * kSumLanes;
  for (int64_t i = 0; i < whole;) {
    for (const int64_t end = std::min(whole, i + kTile); i < end;
         i += kSumLanes) {
      auto max = hn::Zero(d);
#pragma GCC unroll 16
      for (int v = 0; v < kFloatVectors; ++v) {
        const auto a =
            hn::Abs(hn::LoadU(d, source.values + i + v * kFloatLanes));
        minus_count =
            hn::Add(minus_count, hn::BitCast(di, hn::VecFromMask(d, a > low)));
        max = hn::Max(max, a);
        // What is not above the location adds 0, which changes no bit.
        sums.Add(v, hn::Max(a, low), double_location);
      }
      noted.Note(i, max);
    }
    noted.List<false>(source, kept);
  }
  result->count = -int64_t{hn::GetLane(hn::SumOfLanes(di, minus_count))};
  double tail[kSumLanes];
  kept->Reserve(kept->size, kSumLanes);
  for (int64_t i = whole; i < source.n; ++i) {
    const double y = double{std::fabs(source.values[i])} - location;
    if (y > 0) ++result->count;
    tail[i - whole] = std::max(y, 0.0);
    kept->size += PutOneAbove(source, i, keep_above, End(kept, kept->size));
  }
  sums.Finish(tail, source.n - whole, &result->sum, &result->sum_squares);
}

template <bool kListed>
void SelectLoop(const ChunkSource& source, float threshold,
                ChunkList* selected) {
  const FloatTag d;
  NotedGroups noted(threshold);
  const int64_t whole = source.n / kSumLanes * kSumLanes;
  for (int64_t i = 0; i < whole;) {
    for (const int64_t end = std::min(whole, i + kTile); i < end;
         i += kSumLanes) {
      auto max = hn::Zero(d);
#pragma GCC unroll 16
      for (int v = 0; v < kFloatVectors; ++v) {
        max = hn::Max(
            max, hn::Abs(hn::LoadU(d, source.values + i + v * kFloatLanes)));
      }
      noted.Note(i, max);
    }
    noted.List<kListed>(source, selected);
  }
  selected->Reserve(selected->size, kSumLanes);
  for (int64_t i = whole; i < source.n; ++i) {
    selected->size +=
        PutOneAbove(source, i, threshold, End(selected, selected->size));
  }
}

void MeasureList(const ChunkSource& source, float location, float keep_above,
                 Exceedances* result, ChunkList* kept) {
  double sum[kSumLanes] = {};
  double sum_squares[kSumLanes] = {};
  result->count = 0;
  for (int64_t i = 0; i < source.n; ++i) {
    const float a = std::fabs(source.values[i]);
    // Without a branch, which could not be predicted.
    const double y = double{std::max(a, location)} - location;
    // Chunks begin at multiples of kSumLanes.
    const uint32_t lane = source.indices[i] % kSumLanes;
    sum[lane] += y;
    sum_squares[lane] += y * y;
    result->count += a > location ? 1 : 0;
  }
  result->sum = result->sum_squares = 0;
  for (int i = 0; i < kSumLanes; ++i) {
    result->sum += sum[i];
    result->sum_squares += sum_squares[i];
  }
  SelectLoop<true>(source, keep_above, kept);
}

void MeasureChunk(const ChunkSource& source, float location, float keep_above,
                  Exceedances* result, ChunkList* kept) {
  kept->size = 0;
  if (source.indices != nullptr) {
    MeasureList(source, location, keep_above, result, kept);
  } else {
    MeasureVector(source, location, keep_above, result, kept);
  }
}

void SelectChunk(const ChunkSource& source, float threshold,
                 ChunkList* selected) {
  selected->size = 0;
  if (source.indices != nullptr) {
    SelectLoop<true>(source, threshold, selected);
  } else {
    SelectLoop<false>(source, threshold, selected);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ps {

HWY_EXPORT(AddAndMeasureChunk);
HWY_EXPORT(MeasureChunk);
HWY_EXPORT(SelectChunk);

void ChunkList::Reserve(int64_t used, int64_t more) {
  // One vector of the widest machine may be written past the end.
  const size_t needed = static_cast<size_t>(used + more + kSumLanes);
  if (values.size() >= needed) return;
  const size_t new_size = std::max(needed, 2 * values.size());
  values.resize(new_size);
  indices.resize(new_size);
}

void AddAndMeasureChunk(const float* residual, const float* gradient, int64_t n,
                        bool stream, float* out, Moments* moments) {
  HWY_DYNAMIC_DISPATCH(AddAndMeasureChunk)
  (residual, gradient, n, stream, out, moments);
}

void MeasureChunk(const ChunkSource& source, float location, float keep_above,
                  Exceedances* result, ChunkList* kept) {
  HWY_DYNAMIC_DISPATCH(MeasureChunk)
  (source, location, keep_above, result, kept);
}

void SelectChunk(const ChunkSource& source, float threshold,
                 ChunkList* selected) {
  HWY_DYNAMIC_DISPATCH(SelectChunk)(source, threshold, selected);
}

}  // namespace ps

#endif  // HWY_ONCE
