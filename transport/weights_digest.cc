#include "transport/weights_digest.h"

#include <xxhash.h>

#include <cstddef>

namespace ps {

uint64_t WeightsDigest(const float* values, int64_t num_values) {
  return XXH3_64bits(values, static_cast<size_t>(num_values) * sizeof(float));
}

}  // namespace ps
