// Implements a worker's side of the protocol with all servers.
#ifndef TRANSPORT_PARAMETER_CLIENT_H_
#define TRANSPORT_PARAMETER_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/payload_buffer.h"
#include "compressors/payload/payload_format.h"
#include "compressors/payload/position_remarks.h"
#include "security/credentials.h"
#include "transport/interruption.h"
#include "transport/server_timings.h"
#include "transport/shard_map.h"

namespace ps {

class ServerChannel;
class StageExchange;
struct ServerChannelOptions;

struct ParameterClientOptions {
  std::vector<std::string> servers;  // "host:port", in order of index.
  int worker_rank = 0;
  int num_workers = 0;
  uint64_t incarnation = 0;
  std::string name;         // "host:pid", for the servers' messages.
  std::string cores;        // The CoresId of this process; empty: shares none.
  std::string config_text;  // SharedConfigText of the job.
  std::string data_text;    // The text of the DataDescription.
  int64_t total_iterations = 0;
  // The number of last buckets that hold statistics, which the servers average.
  int num_averaged_buckets = 0;
  // The sizes of the model's tensors, bucket by bucket, and whether each tensor
  // has more than one dimension.
  std::vector<int64_t> tensor_sizes;
  std::vector<bool> tensor_is_matrix;
  // The learning rate of each tensor, relative to the job's; empty: all are 1.
  std::vector<double> tensor_rates;
  int64_t max_slice_elements = 0;
  int connections = 1;  // The number of connections to each server.
  // The limit on the bytes of chunks under way to other workers at each server.
  // That of pushes comes from the server.
  int64_t credit_bytes = 64 << 20;
  // Null means plaintext.
  std::shared_ptr<const Credentials> credentials;
  bool keeps_snapshots = false;  // The same for all processes of a job.
  absl::Duration startup_timeout;
  absl::Duration lost_server_timeout;
  // The time without any answer after which the log says which processes the
  // worker waits for.
  absl::Duration patience = absl::Seconds(10);
  // Whether an earlier process of this worker was done with the job.
  bool was_done = false;
  // Ends all waits of the client, that of Connect included; Finish with a
  // failure still tells the servers. Not owned; null: nothing does.
  Interruption* interruption = nullptr;
  // For tests and simulations. The clock is not owned.
  const Clock* clock = SteadyClock();
  // Creates the channel of each server, in order of index; null means gRPC's.
  std::function<std::unique_ptr<ServerChannel>(const ServerChannelOptions&)>
      new_channel;
};

// A server's answer about one slice.
struct SliceAnswer {
  const Slice* slice = nullptr;
  int64_t version = 0;
  double mean_loss = 0;       // For a push: over all workers.
  int64_t sent_elements = 0;  // For a push: by all workers, for this slice.
  int64_t bytes_up = 0;       // For a push: by all workers, for this slice.
  int64_t bytes_down = 0;     // The size of this message.
  // For a push: whether it came too late for its update and changed nothing.
  bool dropped = false;
  // For a push, if each push is an update: the number of updates between the
  // weights that the worker had and its own update.
  int64_t staleness = 0;
  // For a push: whether worker 0 wants this bucket compressed next time.
  std::optional<bool> compress_next;
  // The start of the call and the arrival of the answer; `latency` is the time
  // between them.
  absl::Time sent;
  absl::Time arrived;
  absl::Duration latency;
  int64_t retries = 0;    // The number of repeats of the message.
  ServerTimings timings;  // For a push: the server's times.
  // Whether the worker adds the payload to its weights; otherwise the payload
  // replaces them.
  bool difference = false;
  // Whether the payload has all elements that were pushed for this update.
  bool covers_pushes = false;
  // For a push: whether a process was asked to end. In a synchronous job, if
  // one worker gets this in an answer to its push of an iteration, all workers
  // do.
  bool stop = false;
  PayloadInfo info;
  // The payload, until the handler returns. Empty for a push without weights.
  PayloadPieces payload;
};

// A server's answer about the positions that a leader has selected in a slice.
struct PositionsAnswer {
  const Slice* slice = nullptr;
  std::vector<uint32_t> positions;  // Ascending, in the slice.
  PositionRemarks remarks;          // Their side information.
  // Whether no other worker leads in this slice, so that this one selects
  // positions itself; there are none.
  bool leads = false;
  int64_t bytes_down = 0;  // The size of this message.
};

// The snapshots that processes share; see storage/process_snapshots.h.
struct CommonSnapshots {
  std::vector<int64_t> numbers;  // Common to all processes, ascending.
  // "worker 0 has 100, 200" for every process that has some.
  std::vector<std::string> holdings;
  // Whether the job is running, and this worker, which was restarted, goes back
  // alone, to one of the numbers.
  bool alone = false;
};

// One bucket's push.
struct BucketPush {
  int64_t iteration = 0;
  int bucket = 0;
  double loss = 0;
  int64_t samples = 0;        // As in CheckPushSamples.
  bool wants_weights = true;  // Whether the answers carry weights.
  // The WeightsDigest of each slice of the worker's weights, or empty.
  std::vector<uint64_t> weights_digests;
  // From worker 0: whether all workers must compress this bucket next time.
  std::optional<bool> compress_next;
};

using AnswerHandler = std::function<absl::Status(const SliceAnswer&)>;
using PositionsHandler = std::function<absl::Status(const PositionsAnswer&)>;

// The client. Only one thread may use it at a time; answers that gRPC's threads
// deliver wait inside until that thread asks for them.
//
// Errors of every call name the server by index and address. kUnavailable: a
// server has not answered for lost_server_timeout. kAborted: a server reports
// that the job has failed, and why. All other errors are final as well.
class ParameterClient {
 public:
  virtual ~ParameterClient() = default;

  // Registers with all servers. Waits for servers that have not started; the
  // log names them. `shard_map` is not owned and must outlive the client.
  // Errors: also kDeadlineExceeded, naming the server that is missing after
  // startup_timeout; kFailedPrecondition if a server has another config; those
  // of StartAgain if servers disagree on the state of the job; kCancelled if
  // the job is done, and kUnavailable if it has stopped, where this worker has
  // finished in an earlier process, which all servers then know.
  static absl::StatusOr<std::unique_ptr<ParameterClient>> Connect(
      const ParameterClientOptions& options, const ShardMap* shard_map);

  // Returns the number of workers, this one among them, that share its
  // processors: of all, for which it waits until none is missing, or of those
  // that are present.
  virtual absl::StatusOr<int> WorkersOnTheseCores(bool await_all) = 0;

  // Finds the snapshots from which the job can resume, if this worker has those
  // in `mine`. Waits until all workers have called it. `damaged` are only named
  // in CommonSnapshots::holdings. Errors: also those of StartAgain if servers
  // disagree on whether the job is running.
  virtual absl::StatusOr<CommonSnapshots> FindSnapshots(
      const std::vector<int64_t>& mine,
      const std::vector<int64_t>& damaged) = 0;

  // Makes all servers restore their snapshots of this number in place of
  // initial weights; for rank 0 only. Or, as in CommonSnapshots, makes them
  // replay to this worker the answers its predecessor got.
  virtual absl::Status Restore(int64_t number, bool alone) = 0;

  // Returns the pushes after which this worker can join, if the job is running
  // and continues without it. Otherwise it takes part from the beginning.
  virtual std::optional<int64_t> JoinsAt() const = 0;
  // Joins after this many pushes, and averagings of statistics; this worker
  // will make all later ones.
  virtual absl::Status Join(int64_t pushes, int64_t averagings) = 0;

  // Sends all servers their initial weights; for rank 0 only. bucket_weights[b]
  // points to the elements of bucket b. Null is for a bucket of which servers
  // keep no weights (downlink.mode MEAN), which each rank must tell them.
  virtual absl::Status InitializeWeights(
      const std::vector<const float*>& bucket_weights) = 0;

  // Fetches every slice after this many pushes of each bucket and this many
  // averagings of statistics; waits until rank 0 has initialised the weights.
  // In asynchronous modes, waits until all remaining workers have made them;
  // the weights may be newer, and this worker must not make any of these pushes
  // afterwards. Errors: kFailedPrecondition, or kUnavailable if the job keeps
  // snapshots, for another version in a synchronous job.
  virtual absl::Status PullWeights(int64_t pushes, int64_t averagings,
                                   const AnswerHandler& handler) = 0;

  // Asks for the positions in a bucket that the leader of this iteration
  // selects. PollAnswers and AwaitAnswers pass them to `handler`, for one slice
  // at a time, once the leader has pushed.
  virtual void AskForPositions(int64_t iteration, int bucket,
                               PositionsHandler handler) = 0;

  // Starts to send one bucket; parts[i] is the payload of its i-th slice.
  // Pushes that exceed credit_bytes wait for answers. Of the waiting pushes,
  // later buckets go first, because the next forward pass needs them first.
  virtual absl::Status Push(const BucketPush& push,
                            const std::vector<PayloadBuffer>& parts) = 0;

  // Passes the answers that have arrived so far to `handler`, without waiting.
  virtual absl::Status PollAnswers(const AnswerHandler& handler) = 0;

  // Passes the answers of all pushes so far to `handler` as they arrive, on
  // this thread, also of pushes by `handler`.
  virtual absl::Status AwaitAnswers(const AnswerHandler& handler) = 0;

  // Makes all servers save their state after this many pushes. Waits until all
  // workers have called it and the servers have copied their state. Must be
  // called after AwaitAnswers. `written` are the snapshots that this worker has
  // written. Returns those that all processes have.
  virtual absl::StatusOr<std::set<int64_t>> SaveSnapshot(
      int64_t number, std::set<int64_t> written) = 0;

  // The exchange of arrays with other workers, in jobs whose workers have
  // stages (common/stage_workers.h). Any thread may use it, also while another
  // one uses this client, which owns it.
  virtual StageExchange* stage_exchange() = 0;

  // Makes SliceAnswer::stop tell all workers that this one was asked to end.
  virtual absl::Status Stop() = 0;

  // Tells all servers that all processes must be restarted, and why. Returns
  // kUnavailable with that text.
  virtual absl::Status StartAgain(const std::string& why) = 0;

  // Tells all servers that this worker is done, and waits until all workers
  // are. With a failure it reports that the worker gives up, and why, and does
  // not wait for the other workers. stopped: the worker has saved a snapshot
  // because a process was asked to end, and is not done; then this is
  // kUnavailable when all have.
  virtual absl::Status Finish(const absl::Status& failure,
                              bool stopped = false) = 0;
};

}  // namespace ps

#endif  // TRANSPORT_PARAMETER_CLIENT_H_
