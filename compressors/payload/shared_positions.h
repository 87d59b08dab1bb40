// Splits payloads into positions and values: workers that all send the same
// positions send them once.
//
// In the positions the code of the values is kNoValues, and in the values the
// code of the indices is kSharedPositions. ValidatePayload accepts neither.
//
// If the values are of code kByCompressor, their first bytes are side
// information of the leader's compressor, which its positions carry along:
//     values := remark_bytes u32 | remark | bytes that only the server needs
// The server adds side information of its own when it sends positions:
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

// Returns the positions of a payload that ValidatePayload or ReadCoded has
// accepted. Errors: kInvalidArgument if they are part of its values.
absl::StatusOr<PayloadBuffer> PositionsOf(const PayloadPieces& payload);

// Reads the untrusted result of PositionsOf. The indices ascend and are below
// expected_dense_size. Errors: kInvalidArgument, as ValidatePayload.
absl::StatusOr<std::vector<uint32_t>> ReadPositions(
    const PayloadPieces& positions, int64_t expected_dense_size);

// Replaces the server's side information in positions.
PayloadBuffer WithServerRemarks(const PayloadBuffer& positions,
                                const std::string& server);

// Returns the side information in the untrusted result of PositionsOf or
// WithServerRemarks. Errors: kInvalidArgument.
absl::StatusOr<PositionRemarks> ReadRemarks(const PayloadPieces& positions);

// Whether these bytes claim to be a payload of value code kByCompressor.
bool CodedByCompressor(const PayloadPieces& payload);

// A payload of value code kByCompressor.
struct CodedPayload {
  std::vector<uint32_t> indices;  // Empty if it lacks positions.
  int64_t count = 0;
  std::string remark;
  std::string rest;
};

// Reads an untrusted payload of that code. The indices ascend and are below
// expected_dense_size. Errors: kInvalidArgument, as ValidatePayload.
absl::StatusOr<CodedPayload> ReadCoded(const PayloadPieces& payload,
                                       int64_t expected_dense_size);

// Encodes such a payload at the positions of `plain`, which lies in one piece.
PayloadBuffer EncodeCoded(const PayloadBuffer& plain, const std::string& remark,
                          const std::string& rest);

// Returns a copy of the values of a valid payload that lies in one piece. A
// dense payload has no positions and is returned as it is.
PayloadBuffer WithoutPositions(const PayloadBuffer& payload);

// Whether these bytes claim to be a result of WithoutPositions.
bool LacksPositions(const PayloadPieces& payload);

// A payload in pieces, some of which point into its values.
struct CompletedPayload {
  PayloadPieces pieces;
  PayloadBuffer header;
  PayloadBuffer positions;
};

// Joins the untrusted values of a payload that LacksPositions with the result
// of PositionsOf. ValidatePayload must check the result. `values` must outlive
// it. Errors: kInvalidArgument for values with a different number of elements
// or positions, or for a malformed header.
absl::StatusOr<CompletedPayload> WithPositions(const PayloadPieces& values,
                                               const PayloadBuffer& positions);

}  // namespace ps

#endif  // COMPRESSORS_PAYLOAD_SHARED_POSITIONS_H_
