// Encodes, limits and checks the messages by which workers send each other
// arrays.
#ifndef TRANSPORT_STAGE_MESSAGE_H_
#define TRANSPORT_STAGE_MESSAGE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "grpcpp/support/byte_buffer.h"
#include "proto/aux.pb.h"
#include "transport/payload_message.h"

namespace ps {

// The memory of a chunk that waits at a server besides its message.
constexpr int64_t kKeptChunkBytes = 1024;

// The sizes on which the processes of a job agree.
struct StageLimits {
  int num_workers = 0;
  int num_servers = 0;
  // The limit of each sender at each server, with kKeptChunkBytes for each
  // chunk.
  int64_t credit_bytes = 0;
  // The number of elements of all chunks of an array but the last.
  int64_t chunk_elements = 0;
};

// Returns the limits. Chunks are so short that half of the credit is enough for
// one of each stream from a worker to those whose arrays wait at one server,
// with up to 16 workers: the next chunk of a stream can then always be sent,
// without deadlock. No chunk has more than max_slice_elements.
StageLimits StageLimitsFor(int num_workers, int num_servers,
                           int64_t credit_bytes, int64_t max_slice_elements);

// Returns the server at which arrays for this worker wait.
inline int StageServerOf(int to, const StageLimits& limits) {
  return to % limits.num_servers;
}

// Return the number of chunks of an array of num_values >= 0, at least 1, and
// the values of one of them.
int64_t NumChunks(int64_t num_values, const StageLimits& limits);
int64_t ChunkSize(int64_t num_values, int64_t chunk, const StageLimits& limits);

struct ReceivedStageMessage {
  AuxMessage header;  // The header, without the values.
  ReceivedPayload values;
  int64_t message_bytes = 0;
};

// Encodes a put. Sets header.digest. The buffer shares the memory of `values`,
// which `owner` keeps alive.
grpc::ByteBuffer EncodeStagePut(AuxMessage header,
                                absl::Span<const float> values,
                                std::shared_ptr<const void> owner);

// Decodes an untrusted message. Errors: those of DecodeWithPayload.
absl::StatusOr<ReceivedStageMessage> DecodeStageMessage(
    const grpc::ByteBuffer& message);

// Checks whether worker header.worker may send this to server `server`: peer,
// stream, number and chunk, and the sizes, if it is a put; no values, if it is
// a get. Errors: kInvalidArgument.
absl::Status CheckStagePut(const ReceivedStageMessage& put,
                           const StageLimits& limits, int server);
absl::Status CheckStageGet(const ReceivedStageMessage& get,
                           const StageLimits& limits, int server);

// Encodes the answer to a Get: the chunk of a put that was checked. Its buffer
// shares the put's memory.
grpc::ByteBuffer EncodeStageAnswer(const ReceivedStageMessage& put);

// Copies the values of an answer to `chunk`, the requested chunk of this array.
// Errors: kInvalidArgument if the array has another size, and kDataLoss for any
// other content that cannot be right.
absl::Status CopyChunk(const ReceivedStageMessage& answer, int64_t num_values,
                       absl::Span<float> chunk);

}  // namespace ps

#endif  // TRANSPORT_STAGE_MESSAGE_H_
