// Implements writing for payload.h.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/field_rules.h"
#include "common/status_macros.h"
#include "compressors/index_codes/index_codec.h"
#include "compressors/payload/payload.h"
#include "compressors/value_codes/level_stream.h"
#include "compressors/value_codes/value_codec.h"
#include "glog/logging.h"

namespace ps {
namespace {

constexpr char kAuto[] = "auto";
constexpr int64_t kMaxBucketSize = 1 << 20;

// Allocates a payload with space for this many bytes of values and indices.
PayloadBuffer ReservePayload(int64_t value_bytes, int64_t index_bytes) {
  return PayloadBuffer::Allocate(kPayloadHeaderBytes + value_bytes +
                                 index_bytes);
}

// Writes the header, and shortens the payload to the length that it states.
void WriteHeader(const PayloadInfo& info, PayloadBuffer* payload) {
  const uint8_t codes[4] = {kPayloadVersion,
                            static_cast<uint8_t>(info.index_code),
                            static_cast<uint8_t>(info.value_code), 0};
  const uint32_t count = static_cast<uint32_t>(info.count);
  const uint64_t sizes[3] = {static_cast<uint64_t>(info.dense_size),
                             static_cast<uint64_t>(info.value_bytes),
                             static_cast<uint64_t>(info.index_bytes)};
  uint8_t* out = payload->data();
  std::memcpy(out, codes, sizeof(codes));
  std::memcpy(out + 4, &count, sizeof(count));
  std::memcpy(out + 8, sizes, sizeof(sizes));
  payload->Shrink(kPayloadHeaderBytes + info.value_bytes + info.index_bytes);
}

// A code, and the bytes that it takes.
struct IndexCoding {
  const IndexCodec* codec = nullptr;
  int64_t size_bytes = 0;
};

IndexCoding SmallestCoding(const IndexList& list) {
  IndexCoding smallest;
  const auto try_one = [&](const IndexCodec& codec) {
    if (!codec.Fits(list)) return;
    const int64_t size = codec.EncodedSize(list);
    if (smallest.codec != nullptr && size >= smallest.size_bytes) return;
    smallest = {&codec, size};
  };
  for (const IndexCodec* codec : IndexCodecs().by_number()) {
    if (codec != nullptr) try_one(*codec);
  }
  try_one(ChunksCodec());
  return smallest;
}

PayloadBuffer Encode(const IndexCoding& index_coding,
                     const ValueCodec& value_codec, const ValueWriting& writing,
                     const IndexList& list, absl::Span<float> values) {
  PayloadInfo info;
  info.index_code = index_coding.codec->number();
  info.value_code = value_codec.number();
  info.count = static_cast<int64_t>(values.size());
  info.dense_size = list.dense_size;
  info.index_bytes = index_coding.size_bytes;
  PayloadBuffer payload = ReservePayload(
      value_codec.MaxEncodedSize(info.count, writing.config), info.index_bytes);
  uint8_t* const body = payload.data() + kPayloadHeaderBytes;
  info.value_bytes = value_codec.Encode(writing, values, body);
  index_coding.codec->Encode(list, body + info.value_bytes);
  WriteHeader(info, &payload);
  return payload;
}

PayloadInfo DenseInfo(int64_t dense_size) {
  PayloadInfo info;
  info.count = info.dense_size = dense_size;
  info.value_bytes = dense_size * static_cast<int64_t>(sizeof(float));
  return info;
}

}  // namespace

PayloadBuffer AllocatePayload(const PayloadInfo& info) {
  CHECK_LE(info.dense_size, kMaxDenseSize);
  PayloadBuffer payload = ReservePayload(info.value_bytes, info.index_bytes);
  WriteHeader(info, &payload);
  return payload;
}

int64_t PayloadBytes(const PayloadInfo& info) {
  return static_cast<int64_t>(kPayloadHeaderBytes) + info.value_bytes +
         info.index_bytes;
}

PayloadBuffer PayloadOver(const PayloadInfo& info,
                          std::shared_ptr<uint8_t[]> bytes) {
  CHECK_LE(info.dense_size, kMaxDenseSize);
  PayloadBuffer payload =
      PayloadBuffer::Over(std::move(bytes), PayloadBytes(info));
  WriteHeader(info, &payload);
  return payload;
}

PayloadBuffer PayloadHeader(const PayloadInfo& info) {
  PayloadBuffer header = ReservePayload(0, 0);
  WriteHeader(info, &header);
  header.Shrink(kPayloadHeaderBytes);
  return header;
}

absl::Status CheckPayloadCodes(const PayloadCodes& codes) {
  const std::vector<std::string> index_codes = IndexCodeNames();
  if (std::find(index_codes.begin(), index_codes.end(), codes.index_code) ==
      index_codes.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no index code \"", codes.index_code,
                     "\"; known are: ", absl::StrJoin(index_codes, ", ")));
  }
  PS_RETURN_IF_ERROR(ValueCodecs().Find(codes.value_code).status());
  return CheckFields(codes.value_config);
}

bool RoundsAtRandom(const PayloadCodes& codes) {
  const auto codec = ValueCodecs().Find(codes.value_code);
  CHECK(codec.ok()) << codec.status();
  return (*codec)->RoundsAtRandom();
}

double CodingVariance(const PayloadCodes& codes) {
  const auto codec = ValueCodecs().Find(codes.value_code);
  CHECK(codec.ok()) << codec.status();
  return (*codec)->Error(codes.value_config).variance;
}

absl::StatusOr<PayloadBuffer> EncodeElements(
    const PayloadCodes& codes, absl::Span<const uint32_t> indices,
    absl::Span<float> values, uint32_t begin, int64_t dense_size,
    uint64_t random_key, absl::Span<const ChunkRun> chunks) {
  CHECK_EQ(indices.size(), values.size());
  IndexList list;
  list.indices = indices;
  list.begin = begin;
  list.dense_size = dense_size;
  list.chunks = chunks;
  PS_ASSIGN_OR_RETURN(const ValueCodec* value_codec,
                      ValueCodecs().Find(codes.value_code));
  IndexCoding index_coding;
  if (codes.index_code == kAuto) {
    index_coding = SmallestCoding(list);
  } else {
    PS_ASSIGN_OR_RETURN(const IndexCodec* index_codec,
                        IndexCodecs().Find(codes.index_code));
    if (!index_codec->Fits(list)) {
      return absl::InvalidArgumentError(
          absl::StrCat("index code ", codes.index_code, " for ", list.count(),
                       " of ", dense_size, " positions"));
    }
    index_coding = {index_codec, index_codec->EncodedSize(list)};
  }
  return Encode(index_coding, *value_codec, {codes.value_config, random_key},
                list, values);
}

absl::StatusOr<PayloadBuffer> EncodeSparse(absl::string_view index_code,
                                           absl::Span<const uint32_t> indices,
                                           absl::Span<const float> values,
                                           uint32_t begin, int64_t dense_size) {
  PayloadCodes codes;
  codes.index_code = std::string(index_code);
  std::vector<float> copy(values.begin(), values.end());
  return EncodeElements(codes, indices, absl::MakeSpan(copy), begin,
                        dense_size);
}

PayloadBuffer EncodeDense(absl::Span<const float> values) {
  PayloadBuffer payload = AllocateDense(static_cast<int64_t>(values.size()));
  if (!values.empty()) {
    std::memcpy(DenseValues(&payload), values.data(),
                values.size() * sizeof(float));
  }
  return payload;
}

PayloadBuffer AllocateDense(int64_t dense_size) {
  return AllocatePayload(DenseInfo(dense_size));
}

int64_t DensePayloadBytes(int64_t dense_size) {
  return PayloadBytes(DenseInfo(dense_size));
}

PayloadBuffer DenseOver(std::shared_ptr<uint8_t[]> bytes, int64_t dense_size) {
  return PayloadOver(DenseInfo(dense_size), std::move(bytes));
}

float* DenseValues(PayloadBuffer* payload) {
  return reinterpret_cast<float*>(payload->data() + kPayloadHeaderBytes);
}

absl::Span<const float> DenseValues(const PayloadBuffer& payload) {
  const size_t bytes = payload.size_bytes() - kPayloadHeaderBytes;
  return {reinterpret_cast<const float*>(payload.data() + kPayloadHeaderBytes),
          bytes / sizeof(float)};
}

absl::StatusOr<PayloadBuffer> EncodeDenseAs(const PayloadCodes& codes,
                                            absl::Span<float> values,
                                            uint64_t random_key) {
  PS_ASSIGN_OR_RETURN(const ValueCodec* value_codec,
                      ValueCodecs().Find(codes.value_code));
  const IndexCodec* const dense =
      IndexCodecs().FindNumber(static_cast<uint8_t>(IndexCode::kDense));
  IndexList all;  // The code for all positions ignores it.
  all.dense_size = static_cast<int64_t>(values.size());
  return Encode({dense, dense->EncodedSize(all)}, *value_codec,
                {codes.value_config, random_key}, all, values);
}

std::vector<std::string> IndexCodeNames() {
  std::vector<std::string> names = {kAuto};
  for (const IndexCodec* codec : IndexCodecs().by_number()) {
    // "dense" is not a choice: it holds whole vectors only.
    if (codec == nullptr || codec->number() == IndexCode::kDense) continue;
    names.push_back(std::string(codec->name()));
  }
  return names;
}

std::vector<std::string> ValueCodeNames() { return ValueCodecs().Names(); }

}  // namespace ps
