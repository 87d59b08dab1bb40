// Hashes weights for comparison.
#ifndef TRANSPORT_WEIGHTS_DIGEST_H_
#define TRANSPORT_WEIGHTS_DIGEST_H_

#include <cstdint>

namespace ps {

// Returns XXH3, 64 bits, of the bytes of `values` [num_values] in memory (fp32,
// little endian on all machines that this builds for). 0 and -0 differ.
uint64_t WeightsDigest(const float* values, int64_t num_values);

}  // namespace ps

#endif  // TRANSPORT_WEIGHTS_DIGEST_H_
