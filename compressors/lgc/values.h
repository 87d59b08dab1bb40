// Selects the values of a payload that go through the autoencoder, their order,
// and the few of them that a worker sends uncoded.
#ifndef COMPRESSORS_LGC_VALUES_H_
#define COMPRESSORS_LGC_VALUES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "proto/compressor_config.pb.h"

namespace ps {

// Elements [begin, end) of a payload, in the order of its positions, that
// belong to one tensor.
struct ValueRange {
  uint32_t begin = 0;
  uint32_t end = 0;
};

// Returns the most values of a slice of this size that may go through its
// autoencoder: leaders send plain values if they have more, and servers refuse
// more. It is twice the ratio, as chunks of each tensor round up.
int64_t MostCodedValues(const CompressorConfig& config, int64_t num_elements);

// Returns the number of elements in ranges.
int64_t NumValues(absl::Span<const ValueRange> ranges);

// Returns for each element of the ranges whether it is at least 0.
std::vector<bool> Signs(absl::Span<const ValueRange> ranges,
                        absl::Span<const float> values);

// Returns the elements of the ranges in the autoencoder's order: in each range
// those whose sign is true, then the others; without signs, all in order of
// position.
std::vector<uint32_t> OrderOf(absl::Span<const ValueRange> ranges,
                              const std::vector<bool>& signs);

// Returns values[i] / scale for every element i of `order`.
std::vector<float> Ordered(absl::Span<const uint32_t> order,
                           absl::Span<const float> values, float scale);

// Returns the root mean square.
float Rms(absl::Span<const float> values);

// Returns the places of the ceil(share x n) largest magnitudes, ascending; the
// first of equal ones.
std::vector<uint32_t> LargestPlaces(absl::Span<const float> values,
                                    double share);

// Returns the values at these places, and 0 elsewhere.
std::vector<float> AtPlaces(absl::Span<const float> values,
                            absl::Span<const uint32_t> places);

}  // namespace ps

#endif  // COMPRESSORS_LGC_VALUES_H_
