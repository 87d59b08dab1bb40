#include "compressors/payload/shared_positions.h"

#include <cstring>

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

// Reads a header whose codes need not be known. Its lengths fit.
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
  info.value_code = ValueCode::kNoValues;
  info.value_bytes = 0;
  PayloadBuffer positions = AllocatePayload(info);
  CHECK(indices.Read(positions.data() + kHeaderBytes, info.index_bytes));
  return positions;
}

absl::StatusOr<std::vector<uint32_t>> ReadPositions(
    const PayloadPieces& positions, int64_t expected_dense_size) {
  PS_ASSIGN_OR_RETURN(const PayloadInfo info, ReadLengths(positions));
  const IndexFormat* const format =
      FindIndexFormat(static_cast<uint8_t>(info.index_code));
  if (format == nullptr || format->in_values() ||
      info.value_code != ValueCode::kNoValues || info.value_bytes != 0 ||
      info.dense_size != expected_dense_size) {
    return absl::InvalidArgumentError(absl::StrCat(
        "positions in index code ", static_cast<int>(info.index_code),
        " and value code ", static_cast<int>(info.value_code), " with ",
        info.value_bytes, " value bytes, of ", info.dense_size, "; there are ",
        expected_dense_size));
  }
  const auto decoder = format->NewDecoder(
      info,
      PieceReader(positions, kHeaderBytes, kHeaderBytes + info.index_bytes));
  std::vector<uint32_t> indices(info.count);
  PS_RETURN_IF_ERROR(decoder->Next(absl::MakeSpan(indices)));
  PS_RETURN_IF_ERROR(decoder->Finish());
  return indices;
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
  completed.pieces.push_back(
      positions.span().subspan(kPayloadHeaderBytes, info.index_bytes));
  return completed;
}

}  // namespace ps
