// A worker's side of the conversation with all servers.
#ifndef TRANSPORT_PARAMETER_CLIENT_H_
#define TRANSPORT_PARAMETER_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/payload_buffer.h"
#include "compressors/payload/payload_format.h"
#include "transport/shard_map.h"

namespace ps {

struct ParameterClientOptions {
  std::vector<std::string> servers;  // "host:port", in order of index.
  int worker_rank = 0;
  uint64_t incarnation = 0;
  std::string name;         // "host:pid", for the servers' messages.
  std::string config_text;  // SharedConfigText of the job.
  int64_t total_iterations = 0;
  // So many of the last buckets hold statistics, which the servers average.
  int num_averaged_buckets = 0;
  // Of the model, bucket by bucket, and whether each has more than one extent.
  std::vector<int64_t> tensor_sizes;
  std::vector<bool> tensor_is_matrix;
  int64_t max_slice_elements = 0;
  int connections = 1;  // To each server.
  // Pushes under way at each server, in bytes of messages; one push is always
  // allowed.
  int64_t credit_bytes = 64 << 20;
  // Reach servers on this machine through Unix-domain sockets.
  bool unix_sockets = false;
  absl::Duration startup_timeout;
  absl::Duration lost_server_timeout;
  // When nothing has arrived for so long, the log says whom it waits for.
  absl::Duration patience = absl::Seconds(10);
};

// What a server did with a push. Seconds.
struct ServerWork {
  double held = 0;  // From its arrival to the answer.
  double wait = 0;  // Of that: for other workers' pushes of the slice.
  double sum = 0;   // Work on the slice, for all workers together.
  double optimizer = 0;
  double encode = 0;
};

// A server's answer about one slice.
struct SliceAnswer {
  const Slice* slice = nullptr;
  int64_t version = 0;
  double mean_loss = 0;       // Push: over all workers.
  int64_t sent_elements = 0;  // Push: by all workers, for this slice.
  int64_t bytes_up = 0;       // Push: messages of all workers, for this slice.
  int64_t bytes_down = 0;     // This message.
  // Push: it came too late for its update, and changed nothing.
  bool left_out = false;
  // Push, where each is an update: others since the weights that the worker
  // had, up to its own.
  int64_t staleness = 0;
  // Push: whether worker 0 wants this bucket compressed next time.
  std::optional<bool> compress_next;
  // The call's start and the answer's arrival; `latency` is between them.
  absl::Time sent;
  absl::Time arrived;
  absl::Duration latency;
  ServerWork work;  // Push: meanwhile.
  // To be added to what the worker holds; else it replaces that.
  bool difference = false;
  PayloadInfo info;
  // Valid; dies with the call of the handler. Empty for a push without weights.
  PayloadPieces payload;
};

// One bucket's push.
struct BucketPush {
  int64_t iteration = 0;
  int bucket = 0;
  double loss = 0;
  bool wants_weights = true;  // The answers are to carry them.
  // WeightsDigest of what the worker holds of each slice; empty: not compared.
  std::vector<uint64_t> weights_digests;
  // Of worker 0: whether all workers are to compress this bucket next time.
  std::optional<bool> compress_next;
};

using AnswerHandler = std::function<absl::Status(const SliceAnswer&)>;

// One thread at a time uses a client; what gRPC's own threads deliver waits
// inside until that thread asks for it.
//
// Errors of every call name the server by index and address. kUnavailable: a
// server has not answered for lost_server_timeout. kAborted: a server says that
// the job has failed, and why. Everything else is final too.
class ParameterClient {
 public:
  virtual ~ParameterClient() = default;

  // Reaches all servers and registers with them, waiting with back-off for
  // those that have not started; the log names them. `shard_map` is not owned
  // and outlives the client. Errors: also kDeadlineExceeded naming who is
  // missing after startup_timeout, kFailedPrecondition when a server has
  // another config.
  static absl::StatusOr<std::unique_ptr<ParameterClient>> Connect(
      const ParameterClientOptions& options, const ShardMap* shard_map);

  // Rank 0 gives all servers their first weights. bucket_weights[b]: the
  // elements of bucket b.
  virtual absl::Status InitializeWeights(
      const std::vector<const float*>& bucket_weights) = 0;

  // Fetches every slice; waits until rank 0 has initialised them.
  virtual absl::Status PullWeights(const AnswerHandler& handler) = 0;

  // As PullWeights, once all workers that are left have made so many pushes of
  // each bucket and, of statistics, so many averagings; this one makes no more.
  virtual absl::Status PullLastWeights(int64_t pushes, int64_t averagings,
                                       const AnswerHandler& handler) = 0;

  // Starts to send one bucket: parts[i] is the payload of its i-th slice. What
  // exceeds credit_bytes waits until answers have come; of what waits, later
  // buckets go first, which the next forward pass needs first.
  virtual absl::Status Push(const BucketPush& push,
                            const std::vector<PayloadBuffer>& parts) = 0;

  // Hands over the answers that have come so far, without waiting.
  virtual absl::Status PollAnswers(const AnswerHandler& handler) = 0;

  // Hands over the answers of all pushes so far as they come, on this thread.
  virtual absl::Status AwaitAnswers(const AnswerHandler& handler) = 0;

  // Tells all servers that this worker is done, and waits until all workers
  // are; or, with a failure, that it gives up, and why.
  virtual absl::Status Finish(const absl::Status& failure) = 0;
};

}  // namespace ps

#endif  // TRANSPORT_PARAMETER_CLIENT_H_
