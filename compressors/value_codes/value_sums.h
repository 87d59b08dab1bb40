// Computes the sums over a payload's values that codes with one scale per
// payload need. The host adds in a fixed order, which is part of its bits; a
// device (compressors/cuda/whole_vectors.cu) in its own.
//
// Values are grouped into runs of 256 by their position in the payload. Within
// a run, lane i mod 16 adds value i; then the 16 lanes are added in order, then
// the 16 runs of a chunk, then the chunks.
#ifndef COMPRESSORS_VALUE_CODES_VALUE_SUMS_H_
#define COMPRESSORS_VALUE_CODES_VALUE_SUMS_H_

#include <cmath>
#include <cstdint>

#include "common/host_device.h"

namespace ps {

constexpr int kSumLanes = 16;
constexpr int kSumStretches = 16;  // The number of runs per chunk.
constexpr int kLaneValues = 16;
constexpr int kSumStretch = kSumLanes * kLaneValues;
constexpr int kSumChunk = kSumStretches * kSumStretch;

// The sum of magnitudes. Squares of floats are exact in double, so fused
// multiply-add gives the same bits.
struct MagnitudeSum {
  double sum = 0;  // The sum of |v|.

  void Add(float v) { sum += fabsf(v); }
  void Add(const MagnitudeSum& other) { sum += other.sum; }
};

struct SidedSums {
  double sums[2] = {0, 0};  // Sums of |v|: [0] for v >= 0, [1] for v < 0.
  int64_t counts[2] = {0, 0};

  void Add(float v) {
    const int negative = v < 0;
    sums[negative] += negative ? -v : v;
    ++counts[negative];
  }
  void Add(const SidedSums& other) {
    for (int side = 0; side < 2; ++side) {
      sums[side] += other.sums[side];
      counts[side] += other.counts[side];
    }
  }
};

struct SpreadSums {
  double sum = 0;          // The sum of v.
  double sum_squares = 0;  // The sum of v^2.
  float largest = 0;       // The maximum of |v|.

  void Add(float v) {
    sum += v;
    sum_squares += static_cast<double>(v) * static_cast<double>(v);
    const float magnitude = fabsf(v);
    if (magnitude > largest) largest = magnitude;
  }
  void Add(const SpreadSums& other) {
    sum += other.sum;
    sum_squares += other.sum_squares;
    if (other.largest > largest) largest = other.largest;
  }
};

// Returns the mean magnitude; 0 if there are no values. A mean of floats is no
// larger than the largest float.
PS_HOST_DEVICE inline float MeanMagnitude(const MagnitudeSum& sums,
                                          int64_t count) {
  return count == 0 ? 0.0f
                    : static_cast<float>(sums.sum / static_cast<double>(count));
}

// Returns the mean magnitude of one side; 0 if the side has no values.
inline float MeanOfSide(const SidedSums& sums, int side) {
  return sums.counts[side] == 0
             ? 0.0f
             : static_cast<float>(sums.sums[side] /
                                  static_cast<double>(sums.counts[side]));
}

// Returns the largest magnitude, or the limit that magnitudes are clipped to:
// `clip` standard deviations. A clip of 0 means no clipping.
inline float ClippedScale(const SpreadSums& sums, int64_t count, double clip) {
  if (clip == 0 || count == 0) return sums.largest;
  const double n = static_cast<double>(count);
  const double mean = sums.sum / n;
  const double variance = sums.sum_squares / n - mean * mean;
  const double limit = clip * sqrt(variance > 0 ? variance : 0.0);
  // For equal values the deviation is 0 up to rounding, and there is no outlier
  // to clip.
  if (limit < fabs(mean) || limit >= sums.largest) return sums.largest;
  return static_cast<float>(limit);
}

// Returns the norm, at most the largest float.
PS_HOST_DEVICE inline float EuclideanNormOf(double sum_squares) {
  constexpr double kLargestFloat = 0x1.fffffep127;
  const double norm = sqrt(sum_squares);
  return static_cast<float>(norm < kLargestFloat ? norm : kLargestFloat);
}

// Returns the sums over values[0] to values[count - 1], on the host.
template <typename Sums>
Sums AddUp(const float* values, int64_t count) {
  Sums total;
  for (int64_t chunk = 0; chunk < count; chunk += kSumChunk) {
    Sums of_chunk;
    for (int64_t begin = chunk; begin < count && begin < chunk + kSumChunk;
         begin += kSumStretch) {
      Sums lanes[kSumLanes];
      const int64_t end =
          begin + kSumStretch < count ? begin + kSumStretch : count;
      int64_t i = begin;
      for (; i + kSumLanes <= end; i += kSumLanes) {
        for (int lane = 0; lane < kSumLanes; ++lane) {
          lanes[lane].Add(values[i + lane]);
        }
      }
      for (int lane = 0; i < end; ++i, ++lane) lanes[lane].Add(values[i]);
      Sums of_stretch;
      for (const Sums& lane : lanes) of_stretch.Add(lane);
      of_chunk.Add(of_stretch);
    }
    total.Add(of_chunk);
  }
  return total;
}

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_VALUE_SUMS_H_
