#include "tensor/cpu/cpu_magnitude_loops.h"

#include <algorithm>
#include <cmath>

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
#include "tensor/cpu/cpu_lane_sums-inl.h"
#include "tensor/cpu/cpu_packed_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ps {
namespace HWY_NAMESPACE {
namespace {

// The hardware's prefetcher stops at the end of a page of 4 KiB; a hint this
// many elements ahead goes on.
constexpr int64_t kPrefetchAhead = 256;

// Forms groups [begin, end) of u = residual + gradient, and adds them to sums
// and range. kCopy: also to `copy`, whose first element is element `begin`.
template <bool kStream, bool kCopy>
HWY_INLINE void AddGroups(const float* HWY_RESTRICT residual,
                          const float* HWY_RESTRICT gradient, int64_t begin,
                          int64_t end, float* HWY_RESTRICT out,
                          float* HWY_RESTRICT copy, LaneSums* sums,
                          MagnitudeRange* range) {
  const FloatTag d;
  const auto zero = hn::Zero(DoubleTag());
  for (int64_t i = begin; i < end; i += kSumLanes) {
    hwy::Prefetch(residual + i + kPrefetchAhead);
    hwy::Prefetch(gradient + i + kPrefetchAhead);
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
      if (kCopy) hn::StoreU(u, d, copy + (j - begin));
      const auto a = hn::Abs(u);
      range->Add(a);
      sums->Add(v, a, zero);
    }
  }
}

// The same for the elements that fill no group, and the moments of all.
void FinishSum(const float* residual, const float* gradient, int64_t n,
               const LaneSums& sums, const MagnitudeRange& range, float* out,
               Moments* moments) {
  double tail[kSumLanes];
  const int64_t whole = n / kSumLanes * kSumLanes;
  for (int64_t i = whole; i < n; ++i) {
    out[i] = residual[i] + gradient[i];
    tail[i - whole] = std::fabs(out[i]);
  }
  range.Finish(out + whole, n - whole, n, moments);
  sums.Finish(tail, n - whole, &moments->sum, &moments->sum_squares);
  moments->num_non_finite = 0;
  if (MagnitudeBits(moments->max) < kInfinityMagnitudeBits) return;
  for (int64_t i = 0; i < n; ++i) {
    if (MagnitudeBits(out[i]) >= kInfinityMagnitudeBits)
      ++moments->num_non_finite;
  }
}

// Looks through a chunk, group after group: lists what is above keep_above and,
// if kMeasure, takes the statistics over `location`, which is no higher.
template <bool kMeasure, bool kListed>
class ChunkSifter {
 public:
  HWY_INLINE ChunkSifter(float location, float keep_above)
      : location_(location),
        keep_above_(keep_above),
        minus_count_(hn::Zero(IntTag())),
        noted_(keep_above) {}

  // Groups [begin, end) of `source`, at most a tile.
  HWY_INLINE void Groups(const ChunkSource& source, int64_t begin, int64_t end,
                         ChunkList* kept) {
    const FloatTag d;
    const IntTag di;
    const auto low = hn::Set(d, location_);
    const auto double_location = hn::Set(DoubleTag(), double{location_});
    for (int64_t i = begin; i < end; i += kSumLanes) {
      hwy::Prefetch(source.values + i + kPrefetchAhead);
      auto max = hn::Zero(d);
#pragma GCC unroll 16
      for (int v = 0; v < kFloatVectors; ++v) {
        const auto a =
            hn::Abs(hn::LoadU(d, source.values + i + v * kFloatLanes));
        max = hn::Max(max, a);
        if (kMeasure) {
          minus_count_ = hn::Add(minus_count_,
                                 hn::BitCast(di, hn::VecFromMask(d, a > low)));
          // What is not above the location adds 0, which changes no bit.
          sums_.Add(v, hn::Max(a, low), double_location);
        }
      }
      noted_.Note(i, max);
    }
    noted_.List<kListed>(source, kept);
  }

  // The elements from `whole` on, which fill no group.
  void Finish(const ChunkSource& source, int64_t whole, Exceedances* result,
              ChunkList* kept) {
    double tail[kSumLanes];
    int64_t tail_count = 0;
    kept->Reserve(kept->size, kSumLanes);
    for (int64_t i = whole; i < source.n; ++i) {
      const double y = double{std::fabs(source.values[i])} - location_;
      if (y > 0) ++tail_count;
      tail[i - whole] = std::max(y, 0.0);
      kept->size += PutOneAbove(source, i, keep_above_, End(kept, kept->size));
    }
    if (!kMeasure) return;
    result->count =
        tail_count -
        int64_t{hn::GetLane(hn::SumOfLanes(IntTag(), minus_count_))};
    sums_.Finish(tail, source.n - whole, &result->sum, &result->sum_squares);
  }

 private:
  const float location_;
  const float keep_above_;
  LaneSums sums_;
  hn::Vec<IntTag> minus_count_;
  NotedGroups noted_;
};

template <bool kMeasure, bool kListed>
void SiftLoop(const ChunkSource& source, float location, float keep_above,
              Exceedances* result, ChunkList* kept) {
  ChunkSifter<kMeasure, kListed> sifter(location, keep_above);
  const int64_t whole = source.n / kSumLanes * kSumLanes;
  for (int64_t i = 0; i < whole; i += kTile) {
    sifter.Groups(source, i, std::min(whole, i + kTile), kept);
  }
  sifter.Finish(source, whole, result, kept);
}

template <bool kStream>
void AddLoop(const SumOfTwo& sum, float* out, Moments* moments) {
  LaneSums sums;
  MagnitudeRange range;
  AddGroups<kStream, false>(sum.residual, sum.gradient, 0,
                            sum.n / kSumLanes * kSumLanes, out, nullptr, &sums,
                            &range);
  FinishSum(sum.residual, sum.gradient, sum.n, sums, range, out, moments);
}

// Each tile is formed, and looked through while it is in the L1 cache.
template <bool kStream, bool kMeasure>
void AddAndSiftLoop(const SumOfTwo& sum, float location, float keep_above,
                    float* out, Moments* moments, Exceedances* result,
                    ChunkList* kept) {
  LaneSums sums;
  MagnitudeRange range;
  ChunkSifter<kMeasure, false> sifter(location, keep_above);
  const int64_t whole = sum.n / kSumLanes * kSumLanes;
  alignas(64) float tile[kTile];
  for (int64_t i = 0; i < whole; i += kTile) {
    const int64_t end = std::min(whole, i + kTile);
    AddGroups<kStream, true>(sum.residual, sum.gradient, i, end, out, tile,
                             &sums, &range);
    const ChunkSource source = {tile, nullptr, end - i,
                                sum.first_index + static_cast<uint32_t>(i)};
    sifter.Groups(source, 0, end - i, kept);
  }
  FinishSum(sum.residual, sum.gradient, sum.n, sums, range, out, moments);
  sifter.Finish({out, nullptr, sum.n, sum.first_index}, whole, result, kept);
}

void AddAndMeasureChunk(const SumOfTwo& sum, bool stream, float* out,
                        Moments* moments) {
  if (stream) {
    AddLoop<true>(sum, out, moments);
    hwy::FlushStream();
  } else {
    AddLoop<false>(sum, out, moments);
  }
}

void AddAndSiftChunk(const SumOfTwo& sum, bool stream, float location,
                     float keep_above, float* out, Moments* moments,
                     Exceedances* result, ChunkList* kept) {
  kept->size = 0;
  const bool measure = location <= keep_above;
  const auto loop =
      stream
          ? (measure ? AddAndSiftLoop<true, true> : AddAndSiftLoop<true, false>)
          : (measure ? AddAndSiftLoop<false, true>
                     : AddAndSiftLoop<false, false>);
  loop(sum, location, keep_above, out, moments, result, kept);
  if (stream) hwy::FlushStream();
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
  SiftLoop<false, true>(source, 0, keep_above, nullptr, kept);
}

void MeasureChunk(const ChunkSource& source, float location, float keep_above,
                  Exceedances* result, ChunkList* kept) {
  kept->size = 0;
  if (source.indices != nullptr) {
    MeasureList(source, location, keep_above, result, kept);
  } else {
    SiftLoop<true, false>(source, location, keep_above, result, kept);
  }
}

void SelectChunk(const ChunkSource& source, float threshold,
                 ChunkList* selected) {
  selected->size = 0;
  if (source.indices != nullptr) {
    SiftLoop<false, true>(source, 0, threshold, nullptr, selected);
  } else {
    SiftLoop<false, false>(source, 0, threshold, nullptr, selected);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ps {

HWY_EXPORT(AddAndMeasureChunk);
HWY_EXPORT(AddAndSiftChunk);
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

void AddAndMeasureChunk(const SumOfTwo& sum, bool stream, float* out,
                        Moments* moments) {
  HWY_DYNAMIC_DISPATCH(AddAndMeasureChunk)(sum, stream, out, moments);
}

void AddAndSiftChunk(const SumOfTwo& sum, bool stream, float location,
                     float keep_above, float* out, Moments* moments,
                     Exceedances* result, ChunkList* kept) {
  HWY_DYNAMIC_DISPATCH(AddAndSiftChunk)
  (sum, stream, location, keep_above, out, moments, result, kept);
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
