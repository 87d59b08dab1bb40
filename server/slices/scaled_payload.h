// A payload times a number.
#ifndef SERVER_SLICES_SCALED_PAYLOAD_H_
#define SERVER_SLICES_SCALED_PAYLOAD_H_

#include <cstdint>

#include "compressors/payload/payload_buffer.h"
#include "compressors/payload/payload_format.h"

namespace ps {

// Whether a valid payload has all elements.
bool IsDense(const PayloadPieces& payload, int64_t num_elements);

// Returns the same elements of a valid payload, as fp32, each times `scale` and
// rounded once.
PayloadBuffer ScaledPayload(const PayloadPieces& payload, double scale,
                            int64_t num_elements);

}  // namespace ps

#endif  // SERVER_SLICES_SCALED_PAYLOAD_H_
