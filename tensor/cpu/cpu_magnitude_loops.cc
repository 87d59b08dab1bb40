#include "tensor/cpu/cpu_magnitude_loops.h"

#include <algorithm>
#include <cmath>

// The lanes of a sum are held in arrays of vectors, which requires a vector
// size known to the compiler. On ARM, NEON is used instead of these targets.
#define HWY_DISABLED_TARGETS \
  (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/cpu/cpu_magnitude_loops.cc"
#include "hwy/foreach_target.h"
// This must come after foreach_target.h, which must be first.
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "tensor/cpu/cpu_lane_sums-inl.h"
#include "tensor/cpu/cpu_packed_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ps {
namespace HWY_NAMESPACE {
namespace {

// The hardware prefetcher stops at the end of a 4 KiB page; a hint this many
// elements ahead carries it across.
constexpr int64_t kPrefetchAhead = 256;

// Forms a tile of u = residual + gradient, from element `begin` to `end`, adds
// it to `range` and, if kSums, to `sums`, and notes the groups with elements to
// list.
template <bool kStream, bool kSums>
HWY_INLINE void AddTile(const SumOfTwo& sum, int64_t begin, int64_t end,
                        float* HWY_RESTRICT out, LaneSums* sums,
                        MagnitudeRange* range, NotedGroups* noted) {
  const FloatTag d;
  const auto zero = hn::Zero(DoubleTag());
  const float* HWY_RESTRICT const residual = sum.residual;
  const float* HWY_RESTRICT const gradient = sum.gradient;
  for (int64_t i = begin; i < end; i += kSumLanes) {
    hwy::Prefetch(residual + i + kPrefetchAhead);
    hwy::Prefetch(gradient + i + kPrefetchAhead);
    auto max = hn::Zero(d);
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
      range->Add(a);
      if (kSums) sums->Add(v, a, zero);
      max = hn::Max(max, a);
    }
    noted->Note(i, max);
  }
}

template <bool kStream, SieveGuess::Sums kSums>
void AddLoop(const SumOfTwo& sum, float keep_above, float* out,
             Moments* moments, ChunkList* kept, Exceedances* above) {
  using Sums = SieveGuess::Sums;
  LaneSums sums;
  MagnitudeRange range;
  NotedGroups noted(keep_above);
  const SumLoader loader(sum);
  const int64_t whole = sum.n / kSumLanes * kSumLanes;
  for (int64_t i = 0; i < whole; i += kTile) {
    AddTile<kStream, kSums == Sums::kMagnitudes>(
        sum, i, std::min(whole, i + kTile), out, &sums, &range, &noted);
    noted.List<kSums == Sums::kExceedances>(loader, kept, &sums);
  }
  const double low = kSums == Sums::kExceedances ? double{keep_above} : 0;
  double tail[kSumLanes];
  kept->Reserve(kept->size, kSumLanes);
  for (int64_t i = whole; i < sum.n; ++i) {
    out[i] = sum.residual[i] + sum.gradient[i];
    tail[i - whole] = std::max(std::fabs(double{out[i]}) - low, 0.0);
    kept->size += PutOneAbove(out[i], sum.first_index + i, keep_above,
                              End(kept, kept->size));
  }
  range.Finish(out + whole, sum.n - whole, sum.n, moments);
  if (kSums == Sums::kMagnitudes) {
    sums.Finish(tail, sum.n - whole, &moments->sum, &moments->sum_squares);
  } else if (kSums == Sums::kExceedances) {
    above->count = kept->size;
    sums.Finish(tail, sum.n - whole, &above->sum, &above->sum_squares);
  }
}

template <bool kStream>
auto AddLoopWith(SieveGuess::Sums sums) {
  using Sums = SieveGuess::Sums;
  return sums == Sums::kNone         ? AddLoop<kStream, Sums::kNone>
         : sums == Sums::kMagnitudes ? AddLoop<kStream, Sums::kMagnitudes>
                                     : AddLoop<kStream, Sums::kExceedances>;
}

void AddChunk(const SumOfTwo& sum, const AddOptions& options, float* out,
              Moments* moments, ChunkList* kept, Exceedances* above) {
  *moments = Moments();
  kept->size = 0;
  const SieveGuess& guess = options.guess;
  const auto loop = options.stream ? AddLoopWith<true>(guess.sums)
                                   : AddLoopWith<false>(guess.sums);
  loop(sum, guess.keep_above, out, moments, kept, above);
  if (options.stream) hwy::FlushStream();
  if (MagnitudeBits(moments->max) < kInfinityMagnitudeBits) return;
  for (int64_t i = 0; i < sum.n; ++i) {
    if (MagnitudeBits(out[i]) >= kInfinityMagnitudeBits)
      ++moments->num_non_finite;
  }
}

// Scans a chunk group by group: lists the elements above keep_above and, if
// kMeasure, takes the statistics over `location`.
template <bool kMeasure, class Loader>
void SiftLoop(const ChunkSource& source, float location, float keep_above,
              Exceedances* result, ChunkList* kept) {
  const FloatTag d;
  const IntTag di;
  const auto low = hn::Set(d, location);
  const auto double_location = hn::Set(DoubleTag(), double{location});
  LaneSums sums;
  auto minus_count = hn::Zero(di);
  NotedGroups noted(keep_above);
  const Loader loader(source);
  const int64_t whole = source.n / kSumLanes * kSumLanes;
  for (int64_t i = 0; i < whole;) {
    for (const int64_t end = std::min(whole, i + kTile); i < end;
         i += kSumLanes) {
      hwy::Prefetch(source.values + i + kPrefetchAhead);
      auto max = hn::Zero(d);
#pragma GCC unroll 16
      for (int v = 0; v < kFloatVectors; ++v) {
        const auto a =
            hn::Abs(hn::LoadU(d, source.values + i + v * kFloatLanes));
        max = hn::Max(max, a);
        if (kMeasure) {
          minus_count = hn::Add(minus_count,
                                hn::BitCast(di, hn::VecFromMask(d, a > low)));
          // Values not above the location add 0, which changes no bit.
          sums.Add(v, hn::Max(a, low), double_location);
        }
      }
      noted.Note(i, max);
    }
    noted.List<false>(loader, kept, nullptr);
  }
  double tail[kSumLanes];
  int64_t tail_count = 0;
  kept->Reserve(kept->size, kSumLanes);
  for (int64_t i = whole; i < source.n; ++i) {
    const double y = double{std::fabs(source.values[i])} - location;
    if (y > 0) ++tail_count;
    tail[i - whole] = std::max(y, 0.0);
    kept->size += PutOneAbove(source.values[i], loader.IndexAt(i), keep_above,
                              End(kept, kept->size));
  }
  if (!kMeasure) return;
  result->count =
      tail_count - int64_t{hn::GetLane(hn::SumOfLanes(di, minus_count))};
  sums.Finish(tail, source.n - whole, &result->sum, &result->sum_squares);
}

void MeasureList(const ChunkSource& source, float location, float keep_above,
                 Exceedances* result, ChunkList* kept) {
  double sum[kSumLanes] = {};
  double sum_squares[kSumLanes] = {};
  result->count = 0;
  for (int64_t i = 0; i < source.n; ++i) {
    const float a = std::fabs(source.values[i]);
    // This has no branch, since it could not be predicted.
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
  if (kept != nullptr) {
    SiftLoop<false, ListLoader>(source, 0, keep_above, nullptr, kept);
  }
}

void MeasureChunk(const ChunkSource& source, float location, float keep_above,
                  Exceedances* result, ChunkList* kept) {
  if (kept != nullptr) kept->size = 0;
  if (source.indices != nullptr) {
    MeasureList(source, location, keep_above, result, kept);
  } else {
    SiftLoop<true, VectorLoader>(source, location, keep_above, result, kept);
  }
}

int64_t CountInList(const ChunkList& list, float location) {
  const IntTag di;
  const auto low = hn::Set(FloatTag(), location);
  const int64_t whole = list.size / kFloatLanes * kFloatLanes;
  auto minus_count = hn::Zero(di);
  for (int64_t i = 0; i < whole; i += kFloatLanes) {
    const auto a = hn::Abs(hn::LoadU(FloatTag(), list.values.data() + i));
    minus_count = hn::Add(
        minus_count, hn::BitCast(di, hn::VecFromMask(FloatTag(), a > low)));
  }
  int64_t count = -int64_t{hn::GetLane(hn::SumOfLanes(di, minus_count))};
  for (int64_t i = whole; i < list.size; ++i) {
    if (std::fabs(list.values[i]) > location) ++count;
  }
  return count;
}

void SelectChunk(const ChunkSource& source, float threshold,
                 ChunkList* selected) {
  selected->size = 0;
  if (source.indices != nullptr) {
    SiftLoop<false, ListLoader>(source, 0, threshold, nullptr, selected);
  } else {
    SiftLoop<false, VectorLoader>(source, 0, threshold, nullptr, selected);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ps
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace ps {

HWY_EXPORT(AddChunk);
HWY_EXPORT(MeasureChunk);
HWY_EXPORT(CountInList);
HWY_EXPORT(SelectChunk);

void ChunkList::Reserve(int64_t used, int64_t more) {
  // The loops may write one vector of the widest machine past the end.
  const size_t needed = static_cast<size_t>(used + more + kSumLanes);
  if (values.size() >= needed) return;
  const size_t new_size = std::max(needed, 2 * values.size());
  values.resize(new_size);
  indices.resize(new_size);
}

void AddChunk(const SumOfTwo& sum, const AddOptions& options, float* out,
              Moments* moments, ChunkList* kept, Exceedances* above) {
  HWY_DYNAMIC_DISPATCH(AddChunk)(sum, options, out, moments, kept, above);
}

void MeasureChunk(const ChunkSource& source, float location, float keep_above,
                  Exceedances* result, ChunkList* kept) {
  HWY_DYNAMIC_DISPATCH(MeasureChunk)
  (source, location, keep_above, result, kept);
}

int64_t CountInList(const ChunkList& list, float location) {
  return HWY_DYNAMIC_DISPATCH(CountInList)(list, location);
}

void SelectChunk(const ChunkSource& source, float threshold,
                 ChunkList* selected) {
  HWY_DYNAMIC_DISPATCH(SelectChunk)(source, threshold, selected);
}

}  // namespace ps

#endif  // HWY_ONCE
