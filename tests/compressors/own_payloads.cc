#include "tests/compressors/own_payloads.h"

#include <algorithm>

#include "compressors/adacomp/adacomp_writer.h"
#include "compressors/payload/payload.h"
#include "compressors/powersgd/low_rank_format.h"

namespace ps {
namespace {

std::string Payload(PayloadInfo info, const std::vector<uint8_t>& values) {
  info.dense_size = kOwnPayloadSize;
  info.value_bytes = static_cast<int64_t>(values.size());
  PayloadBuffer payload = AllocatePayload(info);
  std::copy(values.begin(), values.end(), payload.data() + kPayloadHeaderBytes);
  return std::string(payload.data(), payload.data() + payload.size_bytes());
}

std::string AdaCompPayload() {
  std::vector<uint8_t> bytes;
  // Bins of 20, the first cut: 7 to 19; then empty ones, also at the end.
  const std::vector<uint32_t> positions = {27, 38, 110, 111, 119, 127};
  const std::vector<uint8_t> negative = {0, 1, 1, 0, 0, 1};
  AdaCompPiece piece;
  piece.bin_size = 20;
  piece.begin = 27;
  piece.end = 227;
  piece.scale = 1.5f;
  piece.positions = positions;
  piece.negative = negative;
  AppendAdaCompSegment(piece, &bytes);
  const std::vector<float> dense(40, -0.25f);
  AppendDenseSegment(dense, &bytes);
  const std::vector<uint32_t> wide = {3, 59};
  AdaCompPiece one_bin;  // With code words of two bytes.
  one_bin.bin_size = 500;
  one_bin.end = 60;
  one_bin.scale = 0.5f;
  one_bin.positions = wide;
  one_bin.negative = absl::MakeSpan(negative).subspan(0, 2);
  AppendAdaCompSegment(one_bin, &bytes);
  PayloadInfo info;
  info.index_code = IndexCode::kAdaComp;
  info.value_code = ValueCode::kAdaComp;
  info.count = 6 + 40 + 2;
  return Payload(info, bytes);
}

std::string LowRankPayload() {
  LowRankFactors factors;
  factors.rows = 15;
  factors.cols = 20;
  factors.rank = 2;
  for (int i = 0; i < 30; ++i) factors.p.push_back(0.1f * (i - 12));
  for (int i = 0; i < 40; ++i) factors.q.push_back(0.3f * (17 - i));
  std::vector<uint8_t> bytes;
  AppendLowRankPiece(factors, 7, 267, &bytes);  // Begins and ends in a row.
  const std::vector<float> plain(40, 0.75f);
  AppendPlainPiece(plain, &bytes);
  PayloadInfo info;
  info.index_code = IndexCode::kDense;
  info.value_code = ValueCode::kLowRank;
  info.count = kOwnPayloadSize;
  return Payload(info, bytes);
}

std::string ChunksPayload() {
  const std::vector<ChunkRun> chunks = {{40, 250}, {1, 50}};
  std::vector<uint32_t> indices = {39, 41, 80, 130, 199, 200, 249};
  for (uint32_t i = 250; i < 300; ++i) indices.push_back(i);
  std::vector<float> values(indices.size(), -1.25f);
  const auto payload = EncodeElements({}, indices, absl::MakeSpan(values), 0,
                                      kOwnPayloadSize, 0, chunks);
  return std::string(payload->data(), payload->data() + payload->size_bytes());
}

}  // namespace

std::vector<std::string> OwnPayloads() {
  return {AdaCompPayload(), LowRankPayload(), ChunksPayload()};
}

}  // namespace ps
