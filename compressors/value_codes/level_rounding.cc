#include "compressors/value_codes/level_rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/random.h"
#include "compressors/value_codes/levels.h"
#include "compressors/value_codes/philox.h"

namespace ps {
namespace {

// Draws made together; a multiple of 4.
constexpr int64_t kBlock = 1024;
constexpr int64_t kMaxSample = 4096;
constexpr uint64_t kSamplePurpose = 0x616c71;  // "alq"

float EuclideanNorm(absl::Span<const float> values) {
  double sum_squares = 0;  // Of floats, it neither overflows nor underflows.
  for (const float value : values) sum_squares += double{value} * value;
  return static_cast<float>(std::min<double>(
      std::sqrt(sum_squares), std::numeric_limits<float>::max()));
}

float LargestMagnitude(absl::Span<const float> values) {
  float largest = 0;
  for (const float value : values) {
    largest = std::max(largest, std::fabs(value));
  }
  return largest;
}

// In [0, 1]: rounding may have made the norm less than a single magnitude.
float Relative(float value, float scale) {
  return scale > 0 ? std::min(std::fabs(value) / scale, 1.0f) : 0.0f;
}

// Values of one bucket.
template <typename Levels>
void RoundStretch(const Levels& levels, const LevelRounding& rounding,
                  float scale, const float* draws, absl::Span<float> values,
                  uint8_t* codes) {
  const int s = NumLevels(rounding.bits);
  for (size_t i = 0; i < values.size(); ++i) {
    float& value = values[i];
    const int level = levels.Round(Relative(value, scale), s, draws[i]);
    const bool negative = value < 0 && level > 0;
    const int code = level | (negative ? 1 << (rounding.bits - 1) : 0);
    codes[i] = static_cast<uint8_t>(code);
    const float decoded = scale * (*rounding.table)[code];
    value -= decoded;
  }
}

template <typename Levels>
void RoundAll(const Levels& levels, const LevelRounding& rounding,
              absl::Span<float> values, absl::Span<uint8_t> codes) {
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
      const int64_t n = std::min((bucket + 1) * rounding.bucket_size, end) - i;
      RoundStretch(levels, rounding, rounding.scales[bucket],
                   draws + (i - begin), values.subspan(i, n), &codes[i]);
      i += n;
    }
  }
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
  switch (rounding.spacing) {
    case LevelSpacing::kUniform:
      return RoundAll(UniformLevels(), rounding, values, codes);
    case LevelSpacing::kExponential:
      return RoundAll(ExponentialLevels(), rounding, values, codes);
    case LevelSpacing::kFitted:
      // The positive half of the table are the levels.
      return RoundAll(TableLevels(rounding.table->data()), rounding, values,
                      codes);
  }
}

std::vector<WeightedMagnitude> SampleMagnitudes(absl::Span<const float> values,
                                                absl::Span<const float> scales,
                                                int64_t bucket_size,
                                                uint64_t random_key) {
  const int64_t count = static_cast<int64_t>(values.size());
  const int64_t size = std::min(count, kMaxSample);
  RandomStream random(RandomKey(kSamplePurpose, random_key));
  std::vector<WeightedMagnitude> sample(size);
  for (int64_t k = 0; k < size; ++k) {
    const int64_t begin = count * k / size;
    const int64_t end = count * (k + 1) / size;
    const int64_t i = begin + static_cast<int64_t>(random.Below(end - begin));
    const float scale = scales[i / bucket_size];
    sample[k].magnitude = Relative(values[i], scale);
    sample[k].weight = double{scale} * scale;
  }
  return sample;
}

}  // namespace ps
