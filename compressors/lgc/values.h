// Which of a payload's values go through the autoencoder, and in what order;
// and the few of them that a worker sends uncoded.
#ifndef COMPRESSORS_LGC_VALUES_H_
#define COMPRESSORS_LGC_VALUES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "proto/compressor_config.pb.h"

namespace ps {

// Elements [begin, end) of a payload, in the order of its positions: those of
// one tensor.
struct ValueRange {
  uint32_t begin = 0;
  uint32_t end = 0;
};

// How many values of a slice of this size may go through its autoencoder at
// most: leaders send plain values where they have more, and servers refuse
// more. Twice the ratio, as chunks of each tensor round up.
int64_t MostCodedValues(const CompressorConfig& config, int64_t num_elements);

// The number of elements in ranges.
int64_t NumValues(absl::Span<const ValueRange> ranges);

// Whether each element of the ranges is at least 0.
std::vector<bool> Signs(absl::Span<const ValueRange> ranges,
                        absl::Span<const float> values);

// The elements of the ranges in the order that the autoencoder sees: in each
// range those whose sign is true, then the others; without signs, all in their
// own order.
std::vector<uint32_t> OrderOf(absl::Span<const ValueRange> ranges,
                              const std::vector<bool>& signs);

// values[i] / scale for every element i of `order`.
std::vector<float> Ordered(absl::Span<const uint32_t> order,
                           absl::Span<const float> values, float scale);

// The root of the mean square.
float Rms(absl::Span<const float> values);

// ceil(share x n) places of the largest magnitudes, ascending; of equal ones
// the first.
std::vector<uint32_t> LargestPlaces(absl::Span<const float> values,
                                    double share);

// The values at these places, and 0 elsewhere.
std::vector<float> AtPlaces(absl::Span<const float> values,
                            absl::Span<const uint32_t> places);

}  // namespace ps

#endif  // COMPRESSORS_LGC_VALUES_H_
