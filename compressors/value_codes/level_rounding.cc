#include "compressors/value_codes/level_rounding.h"

#include <algorithm>
#include <cmath>

#include "common/random.h"
#include "compressors/value_codes/fitted_levels.h"
#include "compressors/value_codes/level_loops.h"
#include "compressors/value_codes/philox.h"
#include "compressors/value_codes/value_sums.h"

namespace ps {
namespace {

// Number of draws made together; a multiple of 4.
constexpr int64_t kBlock = 1024;

// Number of sums and maxima that a processor can compute at once.
constexpr size_t kLanes = 8;

// The maximum number of magnitudes that levels are fitted to.
constexpr size_t kMaxSample = 16384;

float EuclideanNorm(absl::Span<const float> values) {
  double sums[kLanes] = {};  // Squares of floats stay in range.
  const size_t whole = values.size() / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t j = 0; j < kLanes; ++j) {
      sums[j] += double{values[i + j]} * values[i + j];
    }
  }
  for (size_t i = whole; i < values.size(); ++i) {
    sums[i - whole] += double{values[i]} * values[i];
  }
  double sum = 0;
  for (const double lane : sums) sum += lane;
  return EuclideanNormOf(sum);
}

float LargestMagnitude(absl::Span<const float> values) {
  float largest[kLanes] = {};
  const size_t whole = values.size() / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t j = 0; j < kLanes; ++j) {
      largest[j] = std::max(largest[j], std::fabs(values[i + j]));
    }
  }
  for (size_t i = whole; i < values.size(); ++i) {
    largest[0] = std::max(largest[0], std::fabs(values[i]));
  }
  return *std::max_element(largest, largest + kLanes);
}

}  // namespace

std::vector<float> BucketScales(absl::Span<const float> values,
                                int64_t bucket_size, LevelScale scale) {
  std::vector<float> scales;
  for (size_t begin = 0; begin < values.size(); begin += bucket_size) {
    const absl::Span<const float> bucket = values.subspan(begin, bucket_size);
    scales.push_back(scale == LevelScale::kEuclideanNorm
                         ? EuclideanNorm(bucket)
                         : LargestMagnitude(bucket));
  }
  return scales;
}

void RoundToLevels(const LevelRounding& rounding, absl::Span<float> values,
                   absl::Span<uint8_t> codes) {
  float draws[kBlock];
  std::fill_n(draws, kBlock, 0.5f);  // Rounds to the nearest level.
  const int64_t count = static_cast<int64_t>(values.size());
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, count);
    if (rounding.random_key != nullptr) {
      UniformDraws(*rounding.random_key)
          .Fill(begin, absl::MakeSpan(draws, end - begin));
    }
    for (int64_t i = begin; i < end;) {
      const int64_t bucket = i / rounding.bucket_size;
      LevelStretch stretch;
      stretch.scale = rounding.scales[bucket];
      stretch.bits = rounding.bits;
      stretch.n = std::min((bucket + 1) * rounding.bucket_size, end) - i;
      stretch.draws = draws + (i - begin);
      stretch.values = &values[i];
      stretch.codes = &codes[i];
      switch (rounding.spacing) {
        case LevelSpacing::kUniform:
          RoundToUniformLevels(stretch);
          break;
        case LevelSpacing::kExponential:
          RoundToExponentialLevels(stretch);
          break;
        case LevelSpacing::kFitted:
          RoundToTableLevels(rounding.levels.data(), stretch);
          break;
      }
      i += stretch.n;
    }
  }
}

std::vector<uint64_t> SampleMagnitudes(absl::Span<const float> values,
                                       absl::Span<const float> scales,
                                       int64_t bucket_size,
                                       uint64_t random_key) {
  constexpr uint64_t kPurpose = 0x616c71;  // "alq"
  const uint64_t key = RandomKey(kPurpose, random_key);
  std::vector<uint64_t> sample(std::min(values.size(), kMaxSample));
  for (size_t k = 0; k < sample.size(); ++k) {
    const size_t begin = values.size() * k / sample.size();
    const size_t end = values.size() * (k + 1) / sample.size();
    const size_t i = begin + RandomStream(key, k).Below(end - begin);
    const float scale = scales[i / bucket_size];
    sample[k] = WeightedMagnitude(RelativeMagnitude(values[i], scale), scale);
  }
  return sample;
}

}  // namespace ps
