// The bytes of a compressed vector: what a compressor writes and a server reads
// without knowing the compressor. docs/wire_format.md has the grammar and an
// example in bytes.
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
#include "common/config_check.h"
#include "compressors/payload/payload_buffer.h"
#include "compressors/payload/payload_format.h"
#include "proto/compressor_config.pb.h"

namespace ps {

class ValueDecoder;

// Reads all of it, trusting nothing; the memory is bounded by the bytes that
// are there, the work by those and expected_dense_size. Errors:
// kInvalidArgument naming what is wrong: version, unknown code, length,
// dense_size other than expected, an index out of range, unsorted or repeated,
// a value that is not finite.
absl::StatusOr<PayloadInfo> ValidatePayload(const PayloadPieces& pieces,
                                            int64_t expected_dense_size);

// sum[index] += value for every element, in order. sum has dense_size
// elements. Only for payloads that ValidatePayload accepted: CHECKs.
void AddPayload(const PayloadPieces& pieces, float* sum);

// Adds a dense payload to a sum a stretch at a time, so that the sums of
// several payloads never leave the cache. Same precondition, and the payload is
// dense. `pieces` must outlive it.
class DensePayloadReader {
 public:
  explicit DensePayloadReader(const PayloadPieces& pieces);
  ~DensePayloadReader();
  DensePayloadReader(DensePayloadReader&&);

  // sum[i] += the next elements.
  void AddNext(absl::Span<float> sum);

 private:
  std::unique_ptr<ValueDecoder> decoder_;
};

// Calls visit(indices, values) for stretches of a payload's elements,
// ascending; both die with the call. Same precondition, and the payload is not
// dense.
void VisitPayload(const PayloadPieces& pieces,
                  const std::function<void(absl::Span<const uint32_t>,
                                           absl::Span<const float>)>& visit);

// The decoded elements; for dense payloads all of them. Same precondition.
void DecodePayload(const PayloadPieces& pieces, std::vector<uint32_t>* indices,
                   std::vector<float>* values);

// The values of a dense payload; out has dense_size elements. Same
// precondition, and the payload is dense.
void DecodeDensePayload(const PayloadPieces& pieces, absl::Span<float> out);

// Names of the config, or what they stand for.
struct PayloadCodes {
  // "auto" picks the smallest; ties to the lower wire number.
  std::string index_code = "auto";
  std::string value_code = "fp32";
  // Read by the value codes that name its fields.
  ValueCodeConfig value_config;
};

// kInvalidArgument, with the known names or the range, unless a config may have
// these.
absl::Status CheckPayloadCodes(const PayloadCodes& codes);

// Reports every field of `config` that is out of its range; `path` ends in a
// dot or is empty.
void CheckValueCodeConfig(const ValueCodeConfig& config,
                          const std::string& path, ConfigProblems* problems);

// Whether what EncodeElements writes depends on its random key. The code is one
// that CheckPayloadCodes accepts.
bool RoundsAtRandom(const PayloadCodes& codes);

// Writes a payload of the elements with these ascending indices, all at least
// `begin` and below begin + dense_size; the payload counts from `begin`. Each
// value is replaced by what coding lost of it: value - decoded, rounded to
// float once; 0 for "fp32". Value codes that round at random draw by
// random_key, which no other payload should have. Errors: kInvalidArgument for
// an unknown code.
absl::StatusOr<PayloadBuffer> EncodeElements(const PayloadCodes& codes,
                                             absl::Span<const uint32_t> indices,
                                             absl::Span<float> values,
                                             uint32_t begin, int64_t dense_size,
                                             uint64_t random_key = 0);

// The same with values as fp32, which loses nothing.
absl::StatusOr<PayloadBuffer> EncodeSparse(absl::string_view index_code,
                                           absl::Span<const uint32_t> indices,
                                           absl::Span<const float> values,
                                           uint32_t begin, int64_t dense_size);

// All positions as fp32, no indices.
PayloadBuffer EncodeDense(absl::Span<const float> values);

// Makes a payload of all positions as fp32 whose values are yet to be written,
// by DenseValues.
PayloadBuffer AllocateDense(int64_t dense_size);
float* DenseValues(PayloadBuffer* payload);

// The same in DensePayloadBytes(dense_size) bytes that the caller brings.
int64_t DensePayloadBytes(int64_t dense_size);
PayloadBuffer DenseOver(std::shared_ptr<uint8_t[]> bytes, int64_t dense_size);

// The values of a payload that AllocateDense or EncodeDense made.
absl::Span<const float> DenseValues(const PayloadBuffer& payload);

// All positions, without indices: codes.index_code is not looked at. The rest
// as in EncodeElements.
absl::StatusOr<PayloadBuffer> EncodeDenseAs(const PayloadCodes& codes,
                                            absl::Span<float> values,
                                            uint64_t random_key = 0);

// Room for a payload with its header written; the bytes of the values and then
// those of the indices follow it. For compressors that write their own code.
PayloadBuffer AllocatePayload(const PayloadInfo& info);

// The same in PayloadBytes(info) bytes that the caller brings.
int64_t PayloadBytes(const PayloadInfo& info);
PayloadBuffer PayloadOver(const PayloadInfo& info,
                          std::shared_ptr<uint8_t[]> bytes);

// What CheckPayloadCodes accepts: "auto" and the rest.
std::vector<std::string> IndexCodeNames();
std::vector<std::string> ValueCodeNames();

}  // namespace ps

#endif  // COMPRESSORS_PAYLOAD_PAYLOAD_H_
