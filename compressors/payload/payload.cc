// Implements reading for payload.h; payload_encode.cc implements writing.
#include "compressors/payload/payload.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/index_codes/index_codec.h"
#include "compressors/payload/piece_reader.h"
#include "compressors/value_codes/value_codec.h"
#include "glog/logging.h"

#ifndef ABSL_IS_LITTLE_ENDIAN
#error "payloads are little-endian and are read and written as they are"
#endif

namespace ps {
namespace {

// The number of elements decoded together: both arrays stay in the L1 cache.
constexpr int64_t kBlock = 1024;

int64_t TotalBytes(const PayloadPieces& pieces) {
  int64_t total = 0;
  for (const auto& piece : pieces) total += piece.size();
  return total;
}

// Checks everything that does not require the contents.
absl::StatusOr<PayloadInfo> ReadHeader(const PayloadPieces& pieces) {
  const int64_t total = TotalBytes(pieces);
  const int64_t header_bytes = kPayloadHeaderBytes;
  if (total < header_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "payload of ", total, " bytes; the header alone has ", header_bytes));
  }
  uint8_t codes[4];
  uint32_t count = 0;
  uint64_t sizes[3];  // dense_size, value_bytes, index_bytes
  PieceReader reader(pieces, 0, header_bytes);
  CHECK(reader.Read(codes, sizeof(codes)));
  CHECK(reader.Read(&count, sizeof(count)));
  CHECK(reader.Read(sizes, sizeof(sizes)));
  if (codes[0] != kPayloadVersion) {
    return absl::InvalidArgumentError(absl::StrCat(
        "payload version ", codes[0], "; known is ", kPayloadVersion));
  }
  if (codes[3] != 0) {
    return absl::InvalidArgumentError("the header's zero byte is not zero");
  }
  if (FindIndexFormat(codes[1]) == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown index code ", codes[1]));
  }
  if (FindValueFormat(codes[2]) == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown value code ", codes[2]));
  }
  if (sizes[0] > static_cast<uint64_t>(kMaxDenseSize) || count > sizes[0]) {
    return absl::InvalidArgumentError(
        absl::StrCat(count, " elements of ", sizes[0], " positions"));
  }
  // A subtraction is used because an addition could overflow.
  const uint64_t body = static_cast<uint64_t>(total - header_bytes);
  if (sizes[1] > body || sizes[2] != body - sizes[1]) {
    return absl::InvalidArgumentError(
        absl::StrCat("header says ", sizes[1], " value and ", sizes[2],
                     " index bytes; there are ", body));
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

absl::StatusOr<std::unique_ptr<ValueDecoder>> NewValueDecoder(
    const PayloadInfo& info, const PayloadPieces& pieces) {
  const int64_t begin = kPayloadHeaderBytes;
  return FindValueFormat(static_cast<uint8_t>(info.value_code))
      ->NewDecoder(info, PieceReader(pieces, begin, begin + info.value_bytes));
}

std::unique_ptr<IndexDecoder> NewIndexDecoder(const PayloadInfo& info,
                                              const PayloadPieces& pieces) {
  const IndexFormat* const format =
      FindIndexFormat(static_cast<uint8_t>(info.index_code));
  const int64_t values = kPayloadHeaderBytes;
  const int64_t indices = values + info.value_bytes;
  const int64_t end = indices + info.index_bytes;
  return format->NewDecoder(info, format->in_values()
                                      ? PieceReader(pieces, values, indices)
                                      : PieceReader(pieces, indices, end));
}

std::unique_ptr<ValueDecoder> NewTrustedValueDecoder(
    const PayloadInfo& info, const PayloadPieces& pieces) {
  auto decoder = NewValueDecoder(info, pieces);
  CHECK(decoder.ok()) << decoder.status();
  return *std::move(decoder);
}

PayloadInfo ReadTrustedHeader(const PayloadPieces& pieces) {
  absl::StatusOr<PayloadInfo> info = ReadHeader(pieces);
  CHECK(info.ok()) << info.status();
  return *info;
}

}  // namespace

absl::StatusOr<PayloadInfo> ValidatePayload(const PayloadPieces& pieces,
                                            int64_t expected_dense_size) {
  PS_ASSIGN_OR_RETURN(const PayloadInfo info, ReadHeader(pieces));
  if (info.dense_size != expected_dense_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("payload for ", info.dense_size, " positions; there are ",
                     expected_dense_size));
  }
  PS_ASSIGN_OR_RETURN(const auto value_decoder, NewValueDecoder(info, pieces));
  const auto index_decoder = NewIndexDecoder(info, pieces);
  // The positions of a dense payload are correct if its sizes are.
  const bool dense = info.index_code == IndexCode::kDense;
  if (!dense) {
    uint32_t indices[kBlock];
    for (int64_t i = 0; i < info.count; i += kBlock) {
      const int64_t n = std::min(kBlock, info.count - i);
      PS_RETURN_IF_ERROR(index_decoder->Next(absl::MakeSpan(indices, n)));
    }
  }
  PS_RETURN_IF_ERROR(index_decoder->Finish());
  if (!value_decoder->SkipFinite(info.count)) {
    return absl::InvalidArgumentError("a value is not finite");
  }
  PS_RETURN_IF_ERROR(value_decoder->Finish());
  return info;
}

void AddPayload(const PayloadPieces& pieces, float* sum) {
  const PayloadInfo info = ReadTrustedHeader(pieces);
  if (info.index_code == IndexCode::kDense) {
    CHECK_EQ(info.count, info.dense_size);
    NewTrustedValueDecoder(info, pieces)
        ->AddNext(absl::MakeSpan(sum, info.count));
    return;
  }
  for (SparsePayloadReader reader(pieces); reader.Next();) {
    const absl::Span<const uint32_t> indices = reader.indices();
    const absl::Span<const float> values = reader.values();
    for (size_t i = 0; i < indices.size(); ++i) sum[indices[i]] += values[i];
  }
}

DensePayloadReader::DensePayloadReader(const PayloadPieces& pieces) {
  const PayloadInfo info = ReadTrustedHeader(pieces);
  CHECK(info.index_code == IndexCode::kDense);
  decoder_ = NewTrustedValueDecoder(info, pieces);
}

DensePayloadReader::~DensePayloadReader() = default;
DensePayloadReader::DensePayloadReader(DensePayloadReader&&) = default;

void DensePayloadReader::AddNext(absl::Span<float> sum) {
  decoder_->AddNext(sum);
}

struct SparsePayloadReader::State {
  std::unique_ptr<ValueDecoder> value_decoder;
  std::unique_ptr<IndexDecoder> index_decoder;
  int64_t left = 0;
  int64_t n = 0;  // Of the run.
  uint32_t indices[kBlock];
  float values[kBlock];
};

SparsePayloadReader::SparsePayloadReader(const PayloadPieces& pieces)
    : state_(new State) {
  const PayloadInfo info = ReadTrustedHeader(pieces);
  state_->value_decoder = NewTrustedValueDecoder(info, pieces);
  state_->index_decoder = NewIndexDecoder(info, pieces);
  state_->left = info.count;
}

SparsePayloadReader::~SparsePayloadReader() = default;
SparsePayloadReader::SparsePayloadReader(SparsePayloadReader&&) = default;

bool SparsePayloadReader::Next() {
  State& s = *state_;
  s.n = std::min(kBlock, s.left);
  s.left -= s.n;
  if (s.n == 0) return false;
  const absl::Status status =
      s.index_decoder->Next(absl::MakeSpan(s.indices, s.n));
  CHECK(status.ok()) << status;
  s.value_decoder->Next(absl::MakeSpan(s.values, s.n));
  return true;
}

absl::Span<const uint32_t> SparsePayloadReader::indices() const {
  return {state_->indices, static_cast<size_t>(state_->n)};
}

absl::Span<const float> SparsePayloadReader::values() const {
  return {state_->values, static_cast<size_t>(state_->n)};
}

void DecodePayload(const PayloadPieces& pieces, std::vector<uint32_t>* indices,
                   std::vector<float>* values) {
  const PayloadInfo info = ReadTrustedHeader(pieces);
  indices->resize(info.count);
  values->resize(info.count);
  NewTrustedValueDecoder(info, pieces)->Next(absl::MakeSpan(*values));
  const absl::Status status =
      NewIndexDecoder(info, pieces)->Next(absl::MakeSpan(*indices));
  CHECK(status.ok()) << status;
}

void DecodeDensePayload(const PayloadPieces& pieces, absl::Span<float> out) {
  const PayloadInfo info = ReadTrustedHeader(pieces);
  CHECK(info.index_code == IndexCode::kDense);
  CHECK_EQ(info.dense_size, static_cast<int64_t>(out.size()));
  NewTrustedValueDecoder(info, pieces)->Next(out);
}

}  // namespace ps
