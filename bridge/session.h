// A worker whose gradients, data and optimizer are in another process: what a
// worker does with weights and servers, without the rest.
//
// Either the session works in delta mode (worker/worker_weights.h) with the
// other process's optimizer as the rule: x are the servers' weights, e is what
// this worker has not sent yet, and y = x - a e are the weights of the other
// process, where a is OptimizerConfig.step_ahead. That process moves y in any
// way; its step is s = (y as it was given) - (y now). A push sends as much of
// e + s as the compressor picks, and keeps the rest.
//
// Or, in exchange mode (downlink.mode MEAN), that process has the only weights:
// a push sends as much of e + g as the compressor picks, where g is its
// gradient, and brings back the mean over all workers.
#ifndef BRIDGE_SESSION_H_
#define BRIDGE_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bridge/push_records.h"
#include "common/consistency.h"
#include "proto/config.pb.h"
#include "tensor/backend.h"
#include "tensor/parameter_info.h"
#include "tensor/tensor.h"
#include "transport/interruption.h"
#include "worker/exchange_stats.h"
#include "worker/gradient_pipeline.h"
#include "worker/join_cluster.h"
#include "worker/records/training_observer.h"
#include "worker/server_state.h"
#include "worker/worker_context.h"

namespace ps {

struct BridgeSessionOptions {
  const JobConfig* config = nullptr;  // Validated; its model is external.
  int worker_rank = 0;
  uint64_t incarnation = 0;
  std::string name;  // Of the other process, for servers: "host:pid".
  std::vector<ParameterInfo> parameters;  // At least one, none empty.
  // Each push is of one bucket, which take turns: a round of pushes is all of
  // them. For SYNCHRONOUS jobs in delta mode.
  bool staggered = false;
  // What else must be the same for all workers: names and values, one a string.
  std::vector<std::string> same;
  // All parameters, one after the other: from the other process, and to it.
  float* in = nullptr;
  float* out = nullptr;
  // Where the pushes are recorded; empty: nowhere.
  std::string run_directory;
  std::vector<TrainingObserver*> observers;
  // Ends waits for servers; null: nothing does.
  Interruption* interruption = nullptr;
  // None of the pointers is owned; all outlive the session.
};

// The most numbers of one call of Average.
constexpr size_t kMaxAveraged = 1024;

// Not thread-safe. In delta mode SetFirstWeights by rank 0 and then Pull come
// first. A push is BeginPush, Ready for every bucket in order (or for the one
// whose turn it is), AwaitPush. Calls in another order return
// kFailedPrecondition.
//
// Errors of all methods: those of ParameterClient, which are final; that of the
// interruption.
class BridgeSession {
 public:
  // Registers with all servers, and waits for those that have not started.
  // Tells those that it has reached why it fails.
  // Errors: also kInvalidArgument for a rank or addresses that do not fit the
  // job, and for turns that it does not allow.
  static absl::StatusOr<std::unique_ptr<BridgeSession>> Open(
      const BridgeSessionOptions& options);

  // Bucket 0 has the last parameters.
  const std::vector<Bucket>& buckets() const { return context_.buckets; }

  // In delta mode, for rank 0: gives servers the weights in `in`, unless this
  // worker joins a job that is under way.
  absl::Status SetFirstWeights();

  // In delta mode: writes the servers' first weights to `out`; waits until they
  // have some.
  absl::Status Pull();

  // `loss` is that of the step, of which servers take the mean over all workers
  // for the records; none if the other process does not tell it. `samples`: as
  // in CheckPushSamples, whose errors it returns.
  absl::Status BeginPush(std::optional<double> loss, int64_t samples);
  // `in` has the other process's weights, or gradient, of this bucket. Errors:
  // also kOutOfRange for a step or gradient that is not finite, where the job
  // does not skip it; kInvalidArgument for a bucket that is not the next one.
  absl::Status Ready(int bucket);
  // Waits for all answers, and writes the weights to go on with, or the mean
  // gradient, of the buckets that were pushed to `out`.
  absl::Status AwaitPush();

  // In delta mode, between pushes: writes the servers' weights to `in`.
  absl::Status ReadServersWeights();

  // Between pushes: replaces the values, at most kMaxAveraged, by their means
  // over all workers, which must call this after the same pushes. Errors: also
  // kFailedPrecondition where workers drift apart.
  absl::Status Average(std::vector<float>* values);

  // Between pushes: what this worker has not sent yet, its compressors' state,
  // and whose turn it is. LoadState takes it back in a session with the same
  // tensors and compressor, and in delta mode writes the weights to go on with
  // to `out`. Errors of LoadState: also kDataLoss for bytes that SaveState has
  // not written for such a session.
  absl::StatusOr<std::string> SaveState();
  absl::Status LoadState(absl::string_view state);

  // Tells all servers that this worker is done, and waits for the others. Where
  // workers drift apart, waits before until all have made as many pushes or are
  // done, and writes the servers' weights to `in`.
  absl::Status Finish();

  // Tells all servers, but those that have failed, why this worker gives up.
  // Must be the last call.
  void GiveUp(const absl::Status& why);

  // What was exchanged since the session began, in whole rounds.
  const PushRecords& records() const { return *records_; }
  // Records the metrics of an evaluation, the most important one first.
  void Evaluated(const std::vector<Metric>& metrics) {
    records_->Evaluated(metrics);
  }
  // Euclidean norm of what has not been sent yet. Costs a pass over memory.
  absl::StatusOr<double> ResidualNorm() { return pipeline_->ResidualNorm(); }

 private:
  enum class State { kJoined, kBetweenPushes, kPushing };

  explicit BridgeSession(const BridgeSessionOptions& options)
      : options_(options) {}
  bool exchanges() const { return AnswersMeans(*options_.config); }
  absl::Status Join();
  // Tells servers that keep logs that this worker has no snapshots. Errors:
  // those of StartAgain if the job is under way.
  absl::Status BeginFromNothing();
  absl::Status Require(State state, const char* call) const;
  // Reads the bucket's part of `in` once, since it may change at any time.
  absl::Status TakeStep(int bucket);
  // In delta mode: x - a e, of buckets [begin, end), to `out`.
  absl::Status WriteWeights(int begin, int end);
  int num_buckets() const { return static_cast<int>(context_.buckets.size()); }
  // The buckets of the push that comes next, or is under way.
  int first_bucket() const { return options_.staggered ? turn_ : 0; }
  int end_bucket() const {
    return options_.staggered ? turn_ + 1 : num_buckets();
  }
  // Adds a push of one bucket to its round, and ends its turn. Returns the
  // whole round after the last one.
  std::optional<ExchangeStats> EndTurn(ExchangeStats stats);
  // That of a bucket whose push has failed, if this is not finite.
  absl::Status ExplainFailure(int bucket, const absl::Status& failure);

  const BridgeSessionOptions options_;
  std::unique_ptr<Backend> backend_;
  ClusterLink link_;
  WorkerContext context_;
  std::unique_ptr<GradientPipeline> pipeline_;
  std::unique_ptr<ServerState> servers_;
  Tensor x_;         // [elements]: the servers' weights, or the mean, in `out`.
  Tensor steps_;     // [elements]: s, or g.
  Tensor averaged_;  // [kMaxAveraged]; none where workers drift apart.
  State state_ = State::kJoined;
  int next_bucket_ = 0;  // Of the push.
  int64_t push_ = 0;
  // If buckets take turns: whose it is, how many each has had, and what was
  // exchanged in this round.
  int turn_ = 0;
  std::vector<int64_t> turns_;  // [bucket]
  std::optional<ExchangeStats> round_;
  int64_t averagings_ = 0;
  std::optional<double> loss_;
  std::unique_ptr<PushRecords> records_;
};

}  // namespace ps

#endif  // BRIDGE_SESSION_H_
