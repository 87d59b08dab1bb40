// Encodes a compressed vector as bytes: a compressor writes them, and a server
// reads them without knowing the compressor. docs/wire_format.md has the
// grammar and an example in bytes.
//
//     payload := header values indices
//     header  := version u8 | index code u8 | value code u8 | zero u8
//              | count u32 | dense_size u64 | value_bytes u64 | index_bytes u64
//
// All integers are little-endian. Values come first, so that they start at a
// multiple of 32 bytes; the i-th value belongs to the i-th index. Indices are
// ascending and distinct.
#ifndef COMPRESSORS_PAYLOAD_PAYLOAD_H_
#define COMPRESSORS_PAYLOAD_PAYLOAD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compressors/payload/payload_buffer.h"
#include "compressors/payload/payload_format.h"
#include "proto/compressor_config.pb.h"

namespace ps {

class ValueDecoder;

// Validates a whole payload, which is untrusted. Memory is bounded by the bytes
// present, work by those and expected_dense_size. Errors: kInvalidArgument that
// names the problem: version, unknown code, length, a dense_size other than
// expected, an index that is out of range, unsorted or repeated, or a value
// that is not finite.
absl::StatusOr<PayloadInfo> ValidatePayload(const PayloadPieces& pieces,
                                            int64_t expected_dense_size);

// Adds value to sum[index] for every element, in order. sum has dense_size
// elements. The payload must be one that ValidatePayload accepted; otherwise
// this CHECK-fails.
void AddPayload(const PayloadPieces& pieces, float* sum);

// Adds a dense payload to a sum, a segment at a time, so that the sums of
// several payloads never leave the cache. ValidatePayload must have accepted
// the payload, and it must be dense. `pieces` must outlive the reader.
class DensePayloadReader {
 public:
  explicit DensePayloadReader(const PayloadPieces& pieces);
  ~DensePayloadReader();
  DensePayloadReader(DensePayloadReader&&);

  // Adds the next sum.size() elements to `sum`.
  void AddNext(absl::Span<float> sum);

 private:
  std::unique_ptr<ValueDecoder> decoder_;
};

// Reads the elements of a payload in ascending order, a run at a time.
// ValidatePayload must have accepted the payload. `pieces` must outlive the
// reader.
class SparsePayloadReader {
 public:
  explicit SparsePayloadReader(const PayloadPieces& pieces);
  ~SparsePayloadReader();
  SparsePayloadReader(SparsePayloadReader&&);

  // Decodes the next run, whose spans are valid until the next call. Returns
  // false if there are no more elements; both spans are empty then.
  bool Next();
  absl::Span<const uint32_t> indices() const;
  absl::Span<const float> values() const;

 private:
  struct State;

  std::unique_ptr<State> state_;
};

// Decodes the elements; for a dense payload, all of them. ValidatePayload must
// have accepted the payload.
void DecodePayload(const PayloadPieces& pieces, std::vector<uint32_t>* indices,
                   std::vector<float>* values);

// Decodes the values of a dense payload; `out` has dense_size elements.
// ValidatePayload must have accepted the payload.
void DecodeDensePayload(const PayloadPieces& pieces, absl::Span<float> out);

// The codes of a payload, by their names in the config.
struct PayloadCodes {
  // The code's name. "auto" picks the smallest; ties go to the lower wire
  // number.
  std::string index_code = "auto";
  std::string value_code = "fp32";
  // The options of the value codes; each code reads the fields that name it.
  ValueCodeConfig value_config;
};

// Returns kInvalidArgument, with the known names or the range, unless these
// codes are allowed in a config.
absl::Status CheckPayloadCodes(const PayloadCodes& codes);

// Whether the result of EncodeElements depends on its random key.
// CheckPayloadCodes must accept `codes`.
bool RoundsAtRandom(const PayloadCodes& codes);

// Returns a bound on the expected relative squared error of the value code, in
// terms of the sum of the squares of its values; infinity if there is none.
// CheckPayloadCodes must accept `codes`.
double CodingVariance(const PayloadCodes& codes);

// Writes a payload of the elements with these indices, which are ascending, at
// least `begin` and below begin + dense_size; in the payload they count from
// `begin`. Each value is replaced with its coding error, value - decoded,
// rounded to float once; this is 0 for "fp32". Value codes that round at random
// draw by random_key, which no other payload should share. If the indices are
// one in each chunk of `chunks`, which cover dense_size positions, "auto" knows
// one more index code. Errors: kInvalidArgument for an unknown code.
absl::StatusOr<PayloadBuffer> EncodeElements(
    const PayloadCodes& codes, absl::Span<const uint32_t> indices,
    absl::Span<float> values, uint32_t begin, int64_t dense_size,
    uint64_t random_key = 0, absl::Span<const ChunkRun> chunks = {});

// Like EncodeElements, with values as fp32, which is lossless.
absl::StatusOr<PayloadBuffer> EncodeSparse(absl::string_view index_code,
                                           absl::Span<const uint32_t> indices,
                                           absl::Span<const float> values,
                                           uint32_t begin, int64_t dense_size);

// Writes all positions as fp32, without indices.
PayloadBuffer EncodeDense(absl::Span<const float> values);

// Allocates a payload of all positions as fp32 whose values are still to be
// written, through DenseValues.
PayloadBuffer AllocateDense(int64_t dense_size);
float* DenseValues(PayloadBuffer* payload);

// Like AllocateDense, in DensePayloadBytes(dense_size) bytes of the caller.
int64_t DensePayloadBytes(int64_t dense_size);
PayloadBuffer DenseOver(std::shared_ptr<uint8_t[]> bytes, int64_t dense_size);

// Returns the values of a payload that AllocateDense or EncodeDense created.
absl::Span<const float> DenseValues(const PayloadBuffer& payload);

// Like EncodeElements for all positions, without indices; codes.index_code is
// ignored.
absl::StatusOr<PayloadBuffer> EncodeDenseAs(const PayloadCodes& codes,
                                            absl::Span<float> values,
                                            uint64_t random_key = 0);

// Allocates a payload and writes its header; the bytes of the values follow,
// then those of the indices. Compressors that write their own code use it.
PayloadBuffer AllocatePayload(const PayloadInfo& info);

// Like AllocatePayload, in PayloadBytes(info) bytes that the caller provides.
int64_t PayloadBytes(const PayloadInfo& info);
PayloadBuffer PayloadOver(const PayloadInfo& info,
                          std::shared_ptr<uint8_t[]> bytes);

// Returns the header alone, for a payload whose other bytes lie elsewhere.
PayloadBuffer PayloadHeader(const PayloadInfo& info);

// Returns the names that CheckPayloadCodes accepts, including "auto".
std::vector<std::string> IndexCodeNames();
std::vector<std::string> ValueCodeNames();

}  // namespace ps

#endif  // COMPRESSORS_PAYLOAD_PAYLOAD_H_
