// Turns gradients into new weights: compresses each bucket when it is complete,
// sends it, and applies the servers' answers.
#ifndef WORKER_GRADIENT_PIPELINE_H_
#define WORKER_GRADIENT_PIPELINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compressors/compressor.h"
#include "compressors/payload/payload_buffer.h"
#include "compressors/state_io.h"
#include "tensor/parameter_info.h"
#include "tensor/tensor.h"
#include "transport/parameter_client.h"
#include "worker/answer_writer.h"
#include "worker/compression_choice.h"
#include "worker/exchange_account.h"
#include "worker/exchange_stats.h"
#include "worker/residuals.h"
#include "worker/task_thread.h"
#include "worker/trace_recorder.h"
#include "worker/worker_context.h"
#include "worker/worker_positions.h"

namespace ps {

struct GradientPipelineOptions {
  std::vector<ParameterInfo> parameters;  // Those in the flat vector.
  // The number of uses of each weight of a parameter for one example
  // (WeightUses in models/described/weight_uses.h). If empty, it is 1.
  std::vector<int64_t> uses;
  // Whether to compress, send and apply on a separate thread while the calling
  // thread continues with earlier layers (tensor/backend.h). The results are
  // the same.
  bool overlap = false;
};

// What a push says besides the gradient.
struct PushDetails {
  int64_t samples = 0;  // As in CheckPushSamples, which must allow it.
  // Ready begins with this bucket. If Await comes before the last one, this is
  // an iteration of some buckets only, which needs a job without
  // training.non_finite SKIP and shared positions.
  int first_bucket = 0;
};

// The pipeline. Not thread-safe. For each iteration: Begin, Ready until the
// whole vector is covered, Await. An iteration may be that of some buckets:
// PushDetails.first_bucket.
class GradientPipeline {
 public:
  static absl::StatusOr<std::unique_ptr<GradientPipeline>> Create(
      const WorkerContext& context, const GradientPipelineOptions& options);

  // Records all following iterations in `trace`, which is not owned; null ends
  // the recording. Only Begin, Ready and Await use `trace`. Must not be called
  // during an iteration.
  void Trace(TraceRecorder* trace) { account_.Trace(trace); }

  // Begins an iteration. `push` is its number, from 0. `gradient` is the flat
  // vector to whose elements Ready refers. `weights`, of the same shape, are
  // those that the servers sent; Ready and Await update them as answers arrive,
  // or replace them by the means with downlink.mode MEAN.
  // Both tensors are used until Await returns. In delta mode the gradient is
  // replaced by the worker's steps.
  void Begin(int64_t push, const Tensor& gradient, const Tensor& weights,
             const PushDetails& details = {});

  // Reports that the gradient's elements from `begin` on are final. `begin`
  // decreases from call to call, as Model::ForwardBackward reports it.
  // Compresses and sends every bucket that is now complete, and applies the
  // answers that have arrived for earlier buckets, whose weights this iteration
  // does not need any more. With `overlap` the separate thread does this, and
  // this or a later call returns its errors. With training.non_finite SKIP and
  // with worker_optimizer.clip_norm nothing is sent before the whole gradient
  // is known, and with SKIP nothing at all of one that is not finite. Errors:
  // kFailedPrecondition for a gradient that is not finite, if the job's policy
  // is FAIL.
  absl::Status Ready(double loss, int64_t begin);

  // Makes the worker's step of a gradient, and keeps it for the next push; in
  // delta mode, between Await and Begin. The gradient is replaced by the step.
  // With training.non_finite SKIP one that is not finite is dropped. Errors:
  // kFailedPrecondition if a hundred of these follow each other.
  absl::Status StepLocally(Tensor* gradient);

  // Makes the worker's own weights follow `from_servers`, which did not come as
  // answers to pushes; in delta mode.
  absl::Status FollowServers(const Tensor& from_servers);

  // Ends a failed iteration: waits until nothing uses the client or the backend
  // any more. Must be the last call.
  void Abandon();

  // Waits for all answers and writes the new weights.
  absl::StatusOr<ExchangeStats> Await();

  // Reports the duration of the last whole iteration on this worker, including
  // the work before Begin and after Await. With compressor "auto", worker 0
  // bases its choices for all workers on this; they take effect from the
  // iteration after the next.
  void IterationTook(double seconds) { choice_.IterationTook(seconds, push_); }

  // Save and load the state for checkpoints, between Await and Begin: the
  // compressors and the choices of `auto`, and separately the residuals.
  absl::Status Save(StateWriter* writer) const;
  absl::Status Load(StateReader* reader);
  Residuals* residuals() { return residuals_.get(); }

  // Returns the Euclidean norm of this worker's residual, over all buckets.
  // Costs a pass over memory.
  absl::StatusOr<double> ResidualNorm() { return residuals_->Norm(); }
  // Returns the norm of the gradient that Await has finished with; in delta
  // mode, of the worker's step.
  absl::StatusOr<double> GradientNorm() { return NormOf(gradient_); }

 private:
  explicit GradientPipeline(const WorkerContext& context);

  TraceRecorder::Row row() const {
    return overlap_ ? TraceRecorder::Row::kExchange
                    : TraceRecorder::Row::kTrainer;
  }
  // Examines the whole gradient, if its norm is needed. With
  // training.non_finite SKIP, returns whether it must be dropped because an
  // element is not finite, which is logged. Otherwise returns false.
  absl::StatusOr<bool> LeavesOut(const Tensor& gradient);
  // Queues work for thread_: send the bucket, if given, once the backend has
  // reached the mark, and apply the answers that have arrived.
  absl::Status SendLater(std::optional<int> bucket, double loss);
  // Waits until thread_ has done its work.
  absl::Status EndOverlap();
  absl::Status PollAnswers();
  // Sends a bucket whose gradient is final. It waits for a leader's positions
  // if this worker has none; buckets are pushed in order in any case.
  absl::Status Send(int bucket, double loss);
  absl::Status SendWhatIsReady();
  absl::Status CompressAndPush(int bucket);
  absl::Status TakePositions(const PositionsAnswer& answer);
  absl::StatusOr<CompressedBucket> Compress(int bucket);
  // Returns the norm over the elements of all buckets.
  absl::StatusOr<double> NormOf(const Tensor& gradient) const;
  // Sets an element of each bucket's gradient to NaN.
  absl::Status SpoilEveryBucket();
  absl::string_view Rule() const;  // Returns the section with the rate.
  // Returns the error about a gradient that is not finite.
  absl::Status NotFinite() const;
  absl::Status Push(int bucket, const std::vector<PayloadBuffer>& parts);
  absl::Status Answered(const SliceAnswer& answer);
  // Makes the worker's own weights follow an answer that has been written.
  absl::Status Follow(const SliceAnswer& answer);
  // Returns digests of this worker's weights, for each slice of a bucket.
  absl::StatusOr<std::vector<uint64_t>> WeightsDigests(int bucket);
  // Collect the measurements for compressor "auto"; the first also counts the
  // share of the elements that it compresses. They have no effect with others.
  void AddCosts(const CompressedBucket& compressed);
  void AddCosts(const AppliedAnswer& applied);

  const WorkerContext context_;
  CompressionChoice choice_;
  AnswerWriter writer_;
  WorkerPositions positions_;
  std::vector<std::unique_ptr<Compressor>> compressors_;  // [bucket]
  std::unique_ptr<Residuals> residuals_;
  std::vector<float> staging_;  // The host copy of a slice's weights.

  ExchangeAccount account_;
  int64_t push_ = 0;
  PushDetails details_;
  const bool may_leave_out_;   // Whether training.non_finite is SKIP.
  const bool needs_norm_;      // Whether the norm is needed before sending.
  const int64_t num_trained_;  // The number of elements in all buckets.
  int64_t skipped_in_a_row_ = 0;
  int64_t next_push_ = 0;  // The field of ExchangeStats.
  Tensor gradient_;        // [num_parameters]
  Tensor weights_;         // [num_parameters]
  size_t next_bucket_ = 0;
  // The numbers of buckets whose gradients are final, and that were pushed.
  int num_ready_ = 0;
  int num_pushed_ = 0;
  double loss_ = 0;
  // While true, thread_ uses the client and all members except next_bucket_.
  bool overlap_ = false;
  // Null without overlap. This is last: it must end first.
  std::unique_ptr<TaskThread> thread_;
};

}  // namespace ps

#endif  // WORKER_GRADIENT_PIPELINE_H_
