#include "transport/stage_message.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "transport/stage_exchange.h"
#include "transport/weights_digest.h"

namespace ps {
namespace {

int64_t SizeOf(const PayloadPieces& pieces) {
  int64_t bytes = 0;
  for (const auto& piece : pieces) bytes += static_cast<int64_t>(piece.size());
  return bytes;
}

std::string Name(const AuxMessage& header) {
  return absl::StrCat("chunk ", header.chunk(), " of array ", header.number(),
                      " of stream ", header.stream());
}

// Checks what puts and gets share; `to` is the worker for whom the chunk is.
absl::Status CheckPlace(const AuxMessage& header, int to,
                        const StageLimits& limits, int server) {
  if (header.peer() < 0 || header.peer() >= limits.num_workers ||
      header.peer() == header.worker().rank()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "worker ", header.worker().rank(), " names worker ", header.peer(),
        "; must be another of workers 0 to ", limits.num_workers - 1));
  }
  if (header.stream() < 0 || header.stream() >= kNumStageStreams) {
    return absl::InvalidArgumentError(absl::StrCat("stream ", header.stream(),
                                                   "; must be in [0, ",
                                                   kNumStageStreams, ")"));
  }
  if (header.number() < 0 || header.chunk() < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(Name(header), "; numbers must be at least 0"));
  }
  if (StageServerOf(to, limits) != server) {
    return absl::InvalidArgumentError(
        absl::StrCat("arrays for worker ", to, " wait at server ",
                     StageServerOf(to, limits), "; this is server ", server));
  }
  return absl::OkStatus();
}

}  // namespace

StageLimits StageLimitsFor(int num_workers, int num_servers,
                           int64_t credit_bytes, int64_t max_slice_elements) {
  StageLimits limits;
  limits.num_workers = num_workers;
  limits.num_servers = num_servers;
  limits.credit_bytes = credit_bytes;
  const int64_t receivers =
      std::min(num_workers - 1, (num_workers + num_servers - 1) / num_servers);
  const int64_t a_chunk =
      credit_bytes / 2 / std::max<int64_t>(1, receivers * kNumStageStreams);
  // A message's header takes less than half a kilobyte.
  limits.chunk_elements = std::clamp<int64_t>(
      (a_chunk - kKeptChunkBytes - 512) / 4, 1, max_slice_elements);
  return limits;
}

int64_t NumChunks(int64_t num_values, const StageLimits& limits) {
  return std::max<int64_t>(1, num_values / limits.chunk_elements +
                                  (num_values % limits.chunk_elements > 0));
}

int64_t ChunkSize(int64_t num_values, int64_t chunk,
                  const StageLimits& limits) {
  return std::min(limits.chunk_elements,
                  num_values - chunk * limits.chunk_elements);
}

grpc::ByteBuffer EncodeStagePut(AuxMessage header,
                                absl::Span<const float> values,
                                std::shared_ptr<const void> owner) {
  header.set_digest(
      WeightsDigest(values.data(), static_cast<int64_t>(values.size())));
  ReceivedPayload payload;
  payload.pieces = {{reinterpret_cast<const uint8_t*>(values.data()),
                     values.size() * sizeof(float)}};
  payload.owner = std::move(owner);
  return EncodeWithPayload(header, AuxMessage::kValuesFieldNumber, payload);
}

absl::StatusOr<ReceivedStageMessage> DecodeStageMessage(
    const grpc::ByteBuffer& message) {
  ReceivedStageMessage received;
  received.message_bytes = static_cast<int64_t>(message.Length());
  PS_ASSIGN_OR_RETURN(received.values,
                      DecodeWithPayload(message, AuxMessage::kValuesFieldNumber,
                                        &received.header));
  return received;
}

absl::Status CheckStagePut(const ReceivedStageMessage& put,
                           const StageLimits& limits, int server) {
  const AuxMessage& header = put.header;
  PS_RETURN_IF_ERROR(CheckPlace(header, header.peer(), limits, server));
  if (header.num_values() < 0 ||
      header.chunk() >= NumChunks(header.num_values(), limits)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Name(header), ", which has ", header.num_values(),
                     " values in chunks of ", limits.chunk_elements));
  }
  const int64_t bytes = SizeOf(put.values.pieces);
  const int64_t expected =
      4 * ChunkSize(header.num_values(), header.chunk(), limits);
  if (bytes != expected) {
    return absl::InvalidArgumentError(absl::StrCat(
        Name(header), " has ", bytes, " bytes; must be ", expected, " of ",
        header.num_values(), " values in chunks of ", limits.chunk_elements));
  }
  return absl::OkStatus();
}

absl::Status CheckStageGet(const ReceivedStageMessage& get,
                           const StageLimits& limits, int server) {
  const AuxMessage& header = get.header;
  PS_RETURN_IF_ERROR(
      CheckPlace(header, header.worker().rank(), limits, server));
  if (!get.values.pieces.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(Name(header), " is asked for with values"));
  }
  return absl::OkStatus();
}

grpc::ByteBuffer EncodeStageAnswer(const ReceivedStageMessage& put) {
  AuxMessage header;
  header.set_peer(put.header.worker().rank());
  header.set_stream(put.header.stream());
  header.set_number(put.header.number());
  header.set_chunk(put.header.chunk());
  header.set_num_values(put.header.num_values());
  header.set_digest(put.header.digest());
  return EncodeWithPayload(header, AuxMessage::kValuesFieldNumber, put.values);
}

absl::Status CopyChunk(const ReceivedStageMessage& answer, int64_t num_values,
                       absl::Span<float> chunk) {
  const AuxMessage& header = answer.header;
  if (header.num_values() != num_values) {
    return absl::InvalidArgumentError(absl::StrCat(
        "array ", header.number(), " of stream ", header.stream(),
        " from worker ", header.peer(), " has ", header.num_values(),
        " values; ", num_values, " are expected"));
  }
  const int64_t bytes = SizeOf(answer.values.pieces);
  if (bytes != static_cast<int64_t>(chunk.size() * sizeof(float))) {
    return absl::DataLossError(
        absl::StrCat(Name(header), " from worker ", header.peer(), " has ",
                     bytes, " bytes; must be ", chunk.size() * sizeof(float)));
  }
  auto* out = reinterpret_cast<uint8_t*>(chunk.data());
  for (const auto& piece : answer.values.pieces) {
    out = std::copy(piece.begin(), piece.end(), out);
  }
  if (WeightsDigest(chunk.data(), static_cast<int64_t>(chunk.size())) !=
      header.digest()) {
    return absl::DataLossError(
        absl::StrCat(Name(header), " from worker ", header.peer(),
                     " was damaged on the way; if it happens again, look at "
                     "the memory and the network of these machines"));
  }
  return absl::OkStatus();
}

}  // namespace ps
