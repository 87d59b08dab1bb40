// Payloads whose positions another payload has: workers that all send the same
// positions send them once.
//
// A payload is taken apart into its positions, in which the code of the values
// is kNoValues, and its values, in which the code of the indices is
// kSharedPositions. Neither is a payload that ValidatePayload accepts.
//
// If the values are of code kByCompressor, the first of their bytes are remarks
// of the leader's compressor, which its positions carry along:
//     values := remark_bytes u32 | remark | what only the server needs
// The server adds remarks of its own when it hands out positions:
//     values of positions := nothing | leader_bytes u32 | leader | server
#ifndef COMPRESSORS_PAYLOAD_SHARED_POSITIONS_H_
#define COMPRESSORS_PAYLOAD_SHARED_POSITIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compressors/payload/payload_buffer.h"
#include "compressors/payload/payload_format.h"
#include "compressors/payload/position_remarks.h"

namespace ps {

// The positions of a payload that ValidatePayload has accepted, or ReadCoded.
// Errors: kInvalidArgument if they are part of its values.
absl::StatusOr<PayloadBuffer> PositionsOf(const PayloadPieces& payload);

// Reads what PositionsOf returned, and trusts nothing in it. The result ascends
// and is below expected_dense_size. Errors: kInvalidArgument, as
// ValidatePayload.
absl::StatusOr<std::vector<uint32_t>> ReadPositions(
    const PayloadPieces& positions, int64_t expected_dense_size);

// The same with remarks of the server in place of those that it has.
PayloadBuffer WithServerRemarks(const PayloadBuffer& positions,
                                const std::string& server);

// The remarks of what PositionsOf or WithServerRemarks returned, which are not
// trusted. Errors: kInvalidArgument.
absl::StatusOr<PositionRemarks> ReadRemarks(const PayloadPieces& positions);

// Whether these bytes claim to be a payload of value code kByCompressor.
bool CodedByCompressor(const PayloadPieces& payload);

// A payload of that code.
struct CodedPayload {
  std::vector<uint32_t> indices;  // Empty if it lacks positions.
  int64_t count = 0;
  std::string remark;
  std::string rest;
};

// Reads one, and trusts nothing in it. The indices ascend and are below
// expected_dense_size. Errors: kInvalidArgument, as ValidatePayload.
absl::StatusOr<CodedPayload> ReadCoded(const PayloadPieces& payload,
                                       int64_t expected_dense_size);

// A payload of that code at the positions of `plain`, which lies in one piece.
PayloadBuffer EncodeCoded(const PayloadBuffer& plain, const std::string& remark,
                          const std::string& rest);

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
