// The inner loops of aggregation.
#ifndef COMPRESSORS_VALUE_CODES_FLOAT_LOOPS_H_
#define COMPRESSORS_VALUE_CODES_FLOAT_LOOPS_H_

#include <cstdint>

namespace ps {

// Adds the i-th of n little-endian floats to sum[i]. `bytes` need not be
// aligned and must not overlap `sum`.
void AddFloatBytes(const uint8_t* bytes, int64_t n, float* sum);

// Whether all n little-endian floats are finite. `bytes` need not be aligned.
bool AllFinite(const uint8_t* bytes, int64_t n);

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_FLOAT_LOOPS_H_
