// The state of a slice that its updates change, as a pure state machine: the
// same state and the same record give the same bits.
#ifndef SERVER_SLICES_SLICE_STATE_H_
#define SERVER_SLICES_SLICE_STATE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "compressors/payload/payload_buffer.h"
#include "compressors/slice_coder.h"
#include "compressors/state_io.h"
#include "server/slices/downlink.h"
#include "server/slices/push_norms.h"
#include "server/slices/slice_options.h"
#include "server/slices/slice_weights.h"
#include "server/slices/worker_push.h"
#include "transport/server_timings.h"

namespace ps {

// The answer to a push or a pull. In synchronous mode every worker gets the
// same bytes.
struct WeightAnswer {
  int64_t version = 0;  // The number of updates that the weights have received.
  // The next three are over all workers: of this update or, if each push is an
  // update, the mean of the workers' last losses and the sums since the last
  // answer to this worker.
  double mean_loss = 0;
  int64_t sent_elements = 0;
  int64_t bytes_up = 0;
  DownlinkPayload weights;
  // Whether the push came too late for its update and changed nothing.
  bool dropped = false;
  // The number of updates between the weights at which the gradient was
  // computed and its own update.
  int64_t staleness = 0;
  // The latest choice of worker 0.
  std::optional<bool> compress_next;
  // Whether the update has UpdateRecord::stop; false if each push is an update.
  bool stop = false;
  // The time when the work on the push's update began, not counting the time
  // that its answer waited afterwards. Set by the caller, which has the clock.
  absl::Time complete = absl::InfinitePast();
  ServerTimings timings;  // The measured times, which do not affect weights.
};

// Receives the answer to a push or pull of a WeightSlice, exactly once, on any
// thread. Must not wait for another call to the same slice.
using PushDone = std::function<void(const absl::StatusOr<WeightAnswer>&)>;

// The progress over all updates so far.
struct SliceProgress {
  int64_t version = 0;  // The number of updates that the weights have received.
  // [num_workers], the last iteration of each worker that was part of an
  // update; -1 before the first.
  std::vector<int64_t> counted;
};

// The state. It has no clock, lock, caller or callback. Not thread-safe.
class SliceState {
 public:
  // Creates a state. `first` must be valid and pass CheckFirst. Errors: those
  // of creating the optimizer or the downlink.
  static absl::StatusOr<std::unique_ptr<SliceState>> Create(
      const SliceOptions& options, const PayloadPieces& first);

  // Restores what Save returned, for the same options: all later answers are
  // the same. Errors: kDataLoss for bytes that Save did not write or that
  // belong to another slice; those of Create.
  static absl::StatusOr<std::unique_ptr<SliceState>> Load(
      const SliceOptions& options, absl::string_view saved);

  // Returns the number of elements in a saved state. Errors: kDataLoss.
  static absl::StatusOr<int64_t> NumElements(absl::string_view saved);

  // Changes what Save returned, so that the job continues with a different
  // number of workers: a slice of parameters as if it had received `updates`
  // updates, one of statistics as if it had received `means`. The last update
  // must have had a push of each worker. Errors: kDataLoss.
  static absl::StatusOr<std::string> ForWorkers(absl::string_view saved,
                                                int num_workers,
                                                int64_t updates, int64_t means);

  // Saves the state; must not be called between the steps of an update.
  std::string Save() const;

  const SliceProgress& progress() const { return progress_; }
  // The digest of the initial weights; 0 with UpdateRule::kExchange.
  uint64_t first_digest() const { return first_digest_; }
  uint64_t Digest() const { return weights_->Digest(); }
  // The segments of tensors that make up the slice; at least one.
  const std::vector<TensorStretch>& stretches() const {
    return options_.stretches;
  }

  // Applies the next update. Returns nothing when it is done. Otherwise returns
  // the sums of squares over each of stretches() whose totals the update needs
  // next; call again with the same record after appending them. The payloads
  // are used in the first call only and may then be released. After an error
  // the state must not be used. Errors: kDataLoss for weights or norms that are
  // not finite, or for a digest that does not match.
  absl::StatusOr<std::vector<Squares>> Apply(const UpdateRecord& record);

  // Returns the answer to the latest push of `rank` that was counted, for a
  // worker that holds base_version. If updates take several pushes, the push
  // must be part of the last update, and no update may be in progress. Errors:
  // kDataLoss for weights that are not finite.
  absl::StatusOr<WeightAnswer> Answer(int rank, int64_t base_version);

  // The server-side codec; null if the compressor has none.
  const SliceCoder* coder() const { return coder_.get(); }

  // Returns all weights, for workers that cannot use the changes; with
  // UpdateRule::kExchange the last mean, which is empty before the first.
  WeightAnswer AnswerWithAll() const;

  // Lines about the unusual pushes of the last update: one for each.
  const std::vector<std::string>& unusual() const { return unusual_; }

  // Ignores the worker's losses from now on.
  void WorkerGone(int rank);

 private:
  // The totals over all pushes of all workers.
  struct Counts {
    int64_t sent_elements = 0;
    int64_t bytes_up = 0;
  };
  // The state of a worker, used if each push is an update.
  struct Worker {
    // The loss of its last push, unless it is gone.
    std::optional<double> loss;
    int64_t staleness = 0;  // The staleness of its last push.
    ServerTimings timings;
    // The totals at the time of the last answer to this worker.
    Counts answered;
    // The worker's last push of statistics; empty before the first.
    PayloadBuffer statistics;
  };

  explicit SliceState(const SliceOptions& options);

  // Decodes pushes with the server-side codec. The result keeps the memory to
  // which the payloads in *gradients point.
  absl::StatusOr<std::vector<CoderPush>> Decode(
      const std::vector<WorkerPush>& pushes, GradientPayloads* gradients);
  // Handles unusual pushes as the config says. *changed keeps the memory of
  // those that it replaces, as in Weigh.
  void JudgeNorms(const std::vector<WorkerPush>& pushes,
                  std::deque<PayloadBuffer>* changed,
                  std::deque<PayloadPieces>* pieces,
                  GradientPayloads* gradients);
  // Scales the pushes so that their mean is the one weighed by samples.
  void Weigh(std::deque<PayloadBuffer>* changed,
             std::deque<PayloadPieces>* pieces,
             GradientPayloads* gradients) const;
  absl::Status CheckDigests(const std::vector<WorkerPush>& pushes) const;
  absl::StatusOr<SliceWeights::Outcome> Begin(
      const std::vector<WorkerPush>& pushes);
  absl::StatusOr<SliceWeights::Outcome> Continue(const SquaresTotals& totals);
  void Finish(const UpdateRecord& record, DownlinkPayload answer);
  void FindMeanLoss();
  absl::Status LoadFields(StateReader* reader);
  static void SaveWorker(const Worker& worker, StateWriter* writer);
  static absl::Status LoadWorker(StateReader* reader, Worker* worker);

  const SliceOptions options_;
  const bool each_push_;      // Whether each push is an update.
  const bool may_leave_out_;  // Whether updates may continue without a worker.
  const bool may_drop_;       // Whether updates may drop counted pushes.
  std::unique_ptr<SliceWeights> weights_;
  // Whether the compressor may have a server-side codec, which takes more than
  // one worker.
  bool may_have_coder_ = false;
  std::unique_ptr<SliceCoder> coder_;
  std::optional<PushNorms> norms_;  // Empty if norms are not compared.
  std::vector<std::string> unusual_;
  SliceProgress progress_;
  uint64_t first_digest_ = 0;
  std::optional<bool> compress_next_;
  // The answer of the last update; without payload during the next one. Only
  // used if updates take several pushes.
  WeightAnswer answer_;
  std::vector<Worker> workers_;  // [num_workers]
  Counts counts_;
  double mean_loss_ = 0;  // The mean over the workers' last pushes.

  // The state of the current update.
  bool under_way_ = false;
  size_t num_totals_ = 0;  // The number of totals used.
  ServerTimings timings_;
};

}  // namespace ps

#endif  // SERVER_SLICES_SLICE_STATE_H_
