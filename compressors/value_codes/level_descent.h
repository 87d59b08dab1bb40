// Draws and sums the sample that levels are fitted to, and makes the descent,
// for host and device with bitwise equal results. fitted_levels.h describes the
// purpose.
#ifndef COMPRESSORS_VALUE_CODES_LEVEL_DESCENT_H_
#define COMPRESSORS_VALUE_CODES_LEVEL_DESCENT_H_

#include <cstdint>

#include "common/float_bits.h"
#include "common/host_device.h"
#include "common/partition_point.h"
#include "common/random.h"
#include "compressors/value_codes/levels.h"

namespace ps {

// The maximum number of magnitudes that levels are fitted to.
constexpr int64_t kMaxSample = 16384;
// The number of sweeps. Up to 4 bits, more of them change nothing. The result
// is a local minimum, not always the global one.
constexpr int kLevelFitSweeps = 30;

// Packs a magnitude divided by its bucket's norm, in [0, 1], and the norm,
// which determines its weight, into one number. Non-negative floats ascend as
// their bits do, so a sample has the same order whoever sorts it.
PS_HOST_DEVICE inline uint64_t WeightedMagnitude(float magnitude, float norm) {
  return uint64_t{FloatBits(magnitude)} << 32 | FloatBits(norm);
}

PS_HOST_DEVICE inline float MagnitudeOf(uint64_t weighted) {
  return FloatFromBits(static_cast<uint32_t>(weighted >> 32));
}

// The square of the norm, which is exact.
PS_HOST_DEVICE inline double WeightOf(uint64_t weighted) {
  const double norm = FloatFromBits(static_cast<uint32_t>(weighted));
  return norm * norm;
}

PS_HOST_DEVICE inline int64_t SampleSize(int64_t count) {
  return count < kMaxSample ? count : kMaxSample;
}

// Returns the position of element k of the sample of `count` values. One value
// is drawn from each of SampleSize(count) equally long ranges.
PS_HOST_DEVICE inline int64_t SampledPlace(uint64_t random_key, int64_t count,
                                           int64_t k) {
  constexpr uint64_t kPurpose = 0x616c71;  // "alq"
  const int64_t size = SampleSize(count);
  const int64_t begin = count * k / size;
  const int64_t end = count * (k + 1) / size;
  RandomStream random(RandomKey(kPurpose, random_key),
                      static_cast<uint64_t>(k));
  return begin +
         static_cast<int64_t>(random.Below(static_cast<uint64_t>(end - begin)));
}

// The length of the runs in which a sorted sample is summed: the sums before an
// element are those of the earlier runs, added in order, plus those of the
// elements before it in its own run. So they never decrease.
constexpr int64_t kSampleRun = 64;

struct SampleSums {
  double weight = 0;
  double moment = 0;  // The sum of weight x magnitude.

  PS_HOST_DEVICE void Add(uint64_t weighted) {
    const double more = WeightOf(weighted);
    weight += more;
    moment += more * static_cast<double>(MagnitudeOf(weighted));
  }
  PS_HOST_DEVICE void Add(const SampleSums& other) {
    weight += other.weight;
    moment += other.moment;
  }
};

// Sets sums[i], for each i in the run [begin, end), to the sums over all
// elements before i; `before` holds the sums before the run. Returns the sums
// of the run alone.
PS_HOST_DEVICE inline SampleSums SumRun(const uint64_t* sample, int64_t begin,
                                        int64_t end, const SampleSums& before,
                                        SampleSums* sums) {
  SampleSums run;
  for (int64_t i = begin; i < end; ++i) {
    sums[i] = before;
    sums[i].Add(run);
    run.Add(sample[i]);
  }
  return run;
}

// A sample in ascending order, with sums[k] over its first k elements.
struct SortedSample {
  const uint64_t* elements = nullptr;  // [size]
  const SampleSums* sums = nullptr;    // [size + 1]
  int64_t size = 0;

  // Returns the best level between its neighbours a < c, or `level` if no
  // element lies strictly between them. The error is convex and piecewise
  // linear in the level, with corners at the elements x. It stops falling where
  // the total weight below the level reaches the sum of weight (c - x) / (c -
  // a) over a < x < c.
  PS_HOST_DEVICE float BestBetween(float a, float c, float level) const {
    const int64_t begin = PartitionPoint(
        0, size, [&](int64_t i) { return MagnitudeOf(elements[i]) <= a; });
    const int64_t end = PartitionPoint(
        begin, size, [&](int64_t i) { return MagnitudeOf(elements[i]) < c; });
    if (begin >= end) return level;
    const double weight = sums[end].weight - sums[begin].weight;
    const double moment = sums[end].moment - sums[begin].moment;
    const double high = c;
    const double enough =
        sums[begin].weight +
        (high * weight - moment) / (high - static_cast<double>(a));
    const int64_t best = PartitionPoint(
        begin + 1, end, [&](int64_t i) { return sums[i].weight < enough; });
    return MagnitudeOf(elements[best - 1]);
  }
};

// Fits levels. levels: [s + 1], from 0 to 1; output.
PS_HOST_DEVICE inline void DescendLevels(const SortedSample& sample, int s,
                                         int sweeps, float* levels) {
  for (int i = 0; i <= s; ++i) levels[i] = ExponentialLevels::Value(i, s);
  bool moved = true;
  for (int sweep = 0; sweep < sweeps && moved; ++sweep) {
    moved = false;
    // Sweep downward, so that levels far below all magnitudes move up among
    // them in the first sweep, each after the one above it.
    for (int i = s - 1; i >= 1; --i) {
      const float best =
          sample.BestBetween(levels[i - 1], levels[i + 1], levels[i]);
      moved |= best != levels[i];
      levels[i] = best;
    }
  }
}

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_LEVEL_DESCENT_H_
