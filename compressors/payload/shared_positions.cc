#include "compressors/payload/shared_positions.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/status_macros.h"
#include "compressors/index_codes/index_codec.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/piece_reader.h"
#include "glog/logging.h"

namespace ps {
namespace {

constexpr int64_t kHeaderBytes = kPayloadHeaderBytes;

int64_t TotalBytes(const PayloadPieces& pieces) {
  int64_t total = 0;
  for (const auto& piece : pieces) total += piece.size();
  return total;
}

// Reads a header whose codes may be unknown, and checks its lengths.
absl::StatusOr<PayloadInfo> ReadLengths(const PayloadPieces& pieces) {
  const int64_t total = TotalBytes(pieces);
  uint8_t codes[4];
  uint32_t count = 0;
  uint64_t sizes[3];  // dense_size, value_bytes, index_bytes
  if (total < kHeaderBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "payload of ", total, " bytes; the header alone has ", kHeaderBytes));
  }
  PieceReader reader(pieces, 0, kHeaderBytes);
  CHECK(reader.Read(codes, sizeof(codes)));
  CHECK(reader.Read(&count, sizeof(count)));
  CHECK(reader.Read(sizes, sizeof(sizes)));
  const uint64_t body = static_cast<uint64_t>(total - kHeaderBytes);
  if (codes[0] != kPayloadVersion || codes[3] != 0 || count > sizes[0] ||
      sizes[0] > static_cast<uint64_t>(kMaxDenseSize) || sizes[1] > body ||
      sizes[2] != body - sizes[1]) {
    return absl::InvalidArgumentError(
        absl::StrCat("a malformed header: version ", codes[0], ", ", count,
                     " elements of ", sizes[0], " positions, ", sizes[1],
                     " value and ", sizes[2], " index bytes of ", body));
  }
  PayloadInfo info;
  info.index_code = static_cast<IndexCode>(codes[1]);
  info.value_code = static_cast<ValueCode>(codes[2]);
  info.count = count;
  info.dense_size = static_cast<int64_t>(sizes[0]);
  info.value_bytes = static_cast<int64_t>(sizes[1]);
  info.index_bytes = static_cast<int64_t>(sizes[2]);
  return info;
}

// Writes bytes at *out, and moves it past them.
void Put(const void* bytes, size_t size, uint8_t** out) {
  if (size > 0) std::memcpy(*out, bytes, size);
  *out += size;
}

// Reads two texts; the length of the first precedes it.
absl::StatusOr<PositionRemarks> ReadTwo(PieceReader reader) {
  PositionRemarks two;
  uint32_t first = 0;
  if (reader.remaining() == 0) return two;
  if (!reader.Read(&first, sizeof(first)) || first > reader.remaining()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a remark of ", first, " bytes; ", reader.remaining(), " are there"));
  }
  two.leader.resize(first);
  two.server.resize(reader.remaining() - first);
  CHECK(reader.Read(&two.leader[0], two.leader.size()));
  CHECK(reader.Read(&two.server[0], two.server.size()));
  return two;
}

PieceReader ValuesOf(const PayloadPieces& payload, const PayloadInfo& info) {
  return PieceReader(payload, kHeaderBytes, kHeaderBytes + info.value_bytes);
}

int64_t TwoBytes(const std::string& first, const std::string& second) {
  return static_cast<int64_t>(sizeof(uint32_t) + first.size() + second.size());
}

void PutTwo(const std::string& first, const std::string& second,
            uint8_t** out) {
  const auto size = static_cast<uint32_t>(first.size());
  Put(&size, sizeof(size), out);
  Put(first.data(), first.size(), out);
  Put(second.data(), second.size(), out);
}

absl::StatusOr<std::vector<uint32_t>> ReadIndices(const PayloadPieces& payload,
                                                  const PayloadInfo& info,
                                                  const IndexFormat& format) {
  const int64_t begin = kHeaderBytes + info.value_bytes;
  const auto decoder = format.NewDecoder(
      info, PieceReader(payload, begin, begin + info.index_bytes));
  std::vector<uint32_t> indices(info.count);
  PS_RETURN_IF_ERROR(decoder->Next(absl::MakeSpan(indices)));
  PS_RETURN_IF_ERROR(decoder->Finish());
  return indices;
}

PayloadInfo ReadTrusted(const PayloadPieces& pieces) {
  const absl::StatusOr<PayloadInfo> info = ReadLengths(pieces);
  CHECK(info.ok()) << info.status();
  return *info;
}

}  // namespace

absl::StatusOr<PayloadBuffer> PositionsOf(const PayloadPieces& payload) {
  PayloadInfo info = ReadTrusted(payload);
  if (FindIndexFormat(static_cast<uint8_t>(info.index_code))->in_values()) {
    return absl::InvalidArgumentError(
        absl::StrCat("index code ", static_cast<int>(info.index_code),
                     " has its positions in the values"));
  }
  const int64_t begin = kHeaderBytes + info.value_bytes;
  PieceReader indices(payload, begin, begin + info.index_bytes);
  PositionRemarks remarks;
  if (info.value_code == ValueCode::kByCompressor) {
    PS_ASSIGN_OR_RETURN(remarks, ReadTwo(ValuesOf(payload, info)));
    remarks.server.clear();
  }
  const bool remarked = !remarks.leader.empty();
  info.value_code = ValueCode::kNoValues;
  info.value_bytes = remarked ? TwoBytes(remarks.leader, "") : 0;
  PayloadBuffer positions = AllocatePayload(info);
  uint8_t* out = positions.data() + kHeaderBytes;
  if (remarked) PutTwo(remarks.leader, "", &out);
  CHECK(indices.Read(out, info.index_bytes));
  return positions;
}

absl::StatusOr<PositionRemarks> ReadRemarks(const PayloadPieces& positions) {
  PS_ASSIGN_OR_RETURN(const PayloadInfo info, ReadLengths(positions));
  return ReadTwo(ValuesOf(positions, info));
}

PayloadBuffer WithServerRemarks(const PayloadBuffer& positions,
                                const std::string& server) {
  PayloadInfo info = ReadTrusted({positions.span()});
  const absl::StatusOr<PositionRemarks> before =
      ReadRemarks({positions.span()});
  CHECK(before.ok()) << before.status();
  const uint8_t* const indices =
      positions.data() + kHeaderBytes + info.value_bytes;
  info.value_bytes = TwoBytes(before->leader, server);
  PayloadBuffer result = AllocatePayload(info);
  uint8_t* out = result.data() + kHeaderBytes;
  PutTwo(before->leader, server, &out);
  Put(indices, info.index_bytes, &out);
  return result;
}

absl::StatusOr<CodedPayload> ReadCoded(const PayloadPieces& payload,
                                       int64_t expected_dense_size) {
  PS_ASSIGN_OR_RETURN(const PayloadInfo info, ReadLengths(payload));
  const bool shared = info.index_code == IndexCode::kSharedPositions;
  const IndexFormat* const format =
      shared ? nullptr : FindIndexFormat(static_cast<uint8_t>(info.index_code));
  if (info.value_code != ValueCode::kByCompressor || info.value_bytes == 0 ||
      info.dense_size != expected_dense_size ||
      (shared ? info.index_bytes > 0
              : format == nullptr || format->in_values())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "values of code ", static_cast<int>(info.value_code), " in ",
        info.value_bytes, " bytes at positions of code ",
        static_cast<int>(info.index_code), " in ", info.index_bytes,
        " bytes, of ", info.dense_size, "; there are ", expected_dense_size));
  }
  PS_ASSIGN_OR_RETURN(PositionRemarks two, ReadTwo(ValuesOf(payload, info)));
  CodedPayload coded;
  coded.count = info.count;
  coded.remark = std::move(two.leader);
  coded.rest = std::move(two.server);
  if (!shared) {
    PS_ASSIGN_OR_RETURN(coded.indices, ReadIndices(payload, info, *format));
  }
  return coded;
}

PayloadBuffer EncodeCoded(const PayloadBuffer& plain, const std::string& remark,
                          const std::string& rest) {
  PayloadInfo info = ReadTrusted({plain.span()});
  const uint8_t* const indices = plain.data() + kHeaderBytes + info.value_bytes;
  info.value_code = ValueCode::kByCompressor;
  info.value_bytes = TwoBytes(remark, rest);
  PayloadBuffer coded = AllocatePayload(info);
  uint8_t* out = coded.data() + kHeaderBytes;
  PutTwo(remark, rest, &out);
  Put(indices, info.index_bytes, &out);
  return coded;
}

absl::StatusOr<std::vector<uint32_t>> ReadPositions(
    const PayloadPieces& positions, int64_t expected_dense_size) {
  PS_ASSIGN_OR_RETURN(const PayloadInfo info, ReadLengths(positions));
  const IndexFormat* const format =
      FindIndexFormat(static_cast<uint8_t>(info.index_code));
  if (format == nullptr || format->in_values() ||
      info.value_code != ValueCode::kNoValues ||
      info.dense_size != expected_dense_size) {
    return absl::InvalidArgumentError(absl::StrCat(
        "positions in index code ", static_cast<int>(info.index_code),
        " and value code ", static_cast<int>(info.value_code), ", of ",
        info.dense_size, "; there are ", expected_dense_size));
  }
  return ReadIndices(positions, info, *format);
}

PayloadBuffer WithoutPositions(const PayloadBuffer& payload) {
  PayloadInfo info = ReadTrusted({payload.span()});
  if (info.index_code == IndexCode::kDense) return payload;
  info.index_code = IndexCode::kSharedPositions;
  info.index_bytes = 0;
  PayloadBuffer values = AllocatePayload(info);
  std::memcpy(values.data() + kHeaderBytes, payload.data() + kHeaderBytes,
              info.value_bytes);
  return values;
}

bool LacksPositions(const PayloadPieces& payload) {
  uint8_t codes[2] = {0, 0};
  if (TotalBytes(payload) < kHeaderBytes) return false;
  PieceReader(payload, 0, kHeaderBytes).Read(codes, sizeof(codes));
  return codes[1] == static_cast<uint8_t>(IndexCode::kSharedPositions);
}

bool CodedByCompressor(const PayloadPieces& payload) {
  uint8_t codes[3] = {0, 0, 0};
  if (TotalBytes(payload) < kHeaderBytes) return false;
  PieceReader(payload, 0, kHeaderBytes).Read(codes, sizeof(codes));
  return codes[2] == static_cast<uint8_t>(ValueCode::kByCompressor);
}

absl::StatusOr<CompletedPayload> WithPositions(const PayloadPieces& values,
                                               const PayloadBuffer& positions) {
  PS_ASSIGN_OR_RETURN(PayloadInfo info, ReadLengths(values));
  const PayloadInfo shared = ReadTrusted({positions.span()});
  if (info.count != shared.count || info.dense_size != shared.dense_size ||
      info.index_bytes != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        info.count, " values for ", info.dense_size, " positions with ",
        info.index_bytes, " index bytes; the leader has selected ",
        shared.count, " of ", shared.dense_size));
  }
  info.index_code = shared.index_code;
  info.index_bytes = shared.index_bytes;
  CompletedPayload completed;
  completed.header = PayloadHeader(info);
  completed.positions = positions;
  completed.pieces.push_back(completed.header.span());
  PieceReader reader(values, kHeaderBytes, kHeaderBytes + info.value_bytes);
  while (reader.remaining() > 0) {
    const absl::Span<const uint8_t> piece = reader.Contiguous();
    completed.pieces.push_back(piece);
    reader.Skip(static_cast<int64_t>(piece.size()));
  }
  completed.pieces.push_back(positions.span().subspan(
      kPayloadHeaderBytes + shared.value_bytes, info.index_bytes));
  return completed;
}

}  // namespace ps
