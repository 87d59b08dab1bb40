// The element types that a safetensors file may name.
#ifndef FORMATS_SAFETENSORS_DTYPE_H_
#define FORMATS_SAFETENSORS_DTYPE_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace ps {

// Returns the bits of one element of "F32", "I64", ...; 0 for an unknown name.
int64_t DtypeBits(absl::string_view dtype);

// Whether WidenToFloat accepts the type: "F32", "F16" or "BF16".
bool IsReadAsFloat(absl::string_view dtype);

// Writes the elements of `data`, little-endian, to `values` as floats. The
// conversion is exact. IsReadAsFloat(dtype) must hold.
void WidenToFloat(absl::string_view dtype, absl::string_view data,
                  float* values);

}  // namespace ps

#endif  // FORMATS_SAFETENSORS_DTYPE_H_
