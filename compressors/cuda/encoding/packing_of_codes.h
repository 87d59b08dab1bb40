// What a config's codes mean for packing on a device.
#ifndef COMPRESSORS_CUDA_ENCODING_PACKING_OF_CODES_H_
#define COMPRESSORS_CUDA_ENCODING_PACKING_OF_CODES_H_

#include <cstdint>

#include "compressors/cuda/encoding/packing_choice.h"
#include "compressors/cuda/encoding/part_plan.h"
#include "compressors/payload/payload.h"

namespace ps {

// CheckPayloadCodes must accept `codes`, here and below.
ValuePacking ValuePackingOf(const PayloadCodes& codes);

IndexPacking IndexPackingOf(const PayloadCodes& codes);

// A bound on the space that `num_parts` payloads take, which together have at
// most `count` elements and `dense_size` positions.
int64_t MaxPlaces(const PayloadCodes& codes, const IndexPacking& indices,
                  int64_t num_parts, int64_t count, int64_t dense_size);

}  // namespace ps

#endif  // COMPRESSORS_CUDA_ENCODING_PACKING_OF_CODES_H_
