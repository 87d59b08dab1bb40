// Encodes values as scales and level codes.
#ifndef COMPRESSORS_VALUE_CODES_LEVEL_ROUNDING_H_
#define COMPRESSORS_VALUE_CODES_LEVEL_ROUNDING_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "compressors/value_codes/levels.h"

namespace ps {

enum class LevelScale { kEuclideanNorm, kLargestMagnitude };

// Returns one scale per bucket, rounded to float as it is sent; magnitudes are
// relative to that.
std::vector<float> BucketScales(absl::Span<const float> values,
                                int64_t bucket_size, LevelScale scale);

struct LevelRounding {
  LevelSpacing spacing = LevelSpacing::kUniform;
  // Fitted levels, from 0 to 1; otherwise unused.
  absl::Span<const float> levels;
  int bits = 0;
  int64_t bucket_size = 0;
  absl::Span<const float> scales;  // [buckets]
  // The key of the random draws; null rounds to the nearest level.
  const uint64_t* random_key = nullptr;
};

// Writes a level code for each value, and replaces the value with the rounding
// error.
void RoundToLevels(const LevelRounding& rounding, absl::Span<float> values,
                   absl::Span<uint8_t> codes);

// Returns the sample to fit levels to (fitted_levels.h): one value, drawn by
// random_key, from each of at most 16384 equally long ranges. These are all
// values if there are no more than that.
std::vector<uint64_t> SampleMagnitudes(absl::Span<const float> values,
                                       absl::Span<const float> scales,
                                       int64_t bucket_size,
                                       uint64_t random_key);

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_LEVEL_ROUNDING_H_
