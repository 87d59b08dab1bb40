// Payloads whose positions another payload has: workers that all send the same
// positions send them once.
//
// A payload is taken apart into its positions, in which the code of the values
// is kNoValues, and its values, in which the code of the indices is
// kSharedPositions. Neither is a payload that ValidatePayload accepts.
#ifndef COMPRESSORS_PAYLOAD_SHARED_POSITIONS_H_
#define COMPRESSORS_PAYLOAD_SHARED_POSITIONS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "compressors/payload/payload_buffer.h"
#include "compressors/payload/payload_format.h"

namespace ps {

// The positions of a payload that ValidatePayload has accepted. Errors:
// kInvalidArgument if they are part of its values.
absl::StatusOr<PayloadBuffer> PositionsOf(const PayloadPieces& payload);

// Reads what PositionsOf returned, and trusts nothing in it. The result ascends
// and is below expected_dense_size. Errors: kInvalidArgument, as
// ValidatePayload.
absl::StatusOr<std::vector<uint32_t>> ReadPositions(
    const PayloadPieces& positions, int64_t expected_dense_size);

// The values of a valid payload that lies in one piece; a copy. A dense payload
// has no positions and is returned as it is.
PayloadBuffer WithoutPositions(const PayloadBuffer& payload);

// Whether these bytes claim to be what WithoutPositions returned.
bool LacksPositions(const PayloadPieces& payload);

// A payload in pieces, some of which are those of its values.
struct CompletedPayload {
  PayloadPieces pieces;
  PayloadBuffer header;
  PayloadBuffer positions;
};

// Puts together what LacksPositions, which is not trusted, and positions that
// PositionsOf returned. ValidatePayload must check the result. `values` must
// outlive it. Errors: kInvalidArgument for values of another number of elements
// or positions, or for a malformed header.
absl::StatusOr<CompletedPayload> WithPositions(const PayloadPieces& values,
                                               const PayloadBuffer& positions);

}  // namespace ps

#endif  // COMPRESSORS_PAYLOAD_SHARED_POSITIONS_H_
