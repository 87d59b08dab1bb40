// The inner loops of aggregation.
#ifndef COMPRESSORS_VALUE_CODES_FLOAT_LOOPS_H_
#define COMPRESSORS_VALUE_CODES_FLOAT_LOOPS_H_

#include <cstdint>

namespace ps {

// sum[i] += the i-th of n little-endian floats. `bytes` need not be aligned and
// does not overlap `sum`.
void AddFloatBytes(const uint8_t* bytes, int64_t n, float* sum);

// Whether none of n little-endian floats is a NaN or an infinity. `bytes` need
// not be aligned.
bool AllFinite(const uint8_t* bytes, int64_t n);

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_FLOAT_LOOPS_H_
