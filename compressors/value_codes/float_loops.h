// The inner loops of aggregation.
#ifndef COMPRESSORS_VALUE_CODES_FLOAT_LOOPS_H_
#define COMPRESSORS_VALUE_CODES_FLOAT_LOOPS_H_

#include <cstdint>

namespace ps {

// sum[i] += the i-th of n little-endian floats. `bytes` need not be aligned and
// does not overlap `sum`.
void AddFloatBytes(const uint8_t* bytes, int64_t n, float* sum);

// Whether none is a NaN or an infinity.
bool AllFinite(const float* values, int64_t n);

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_FLOAT_LOOPS_H_
