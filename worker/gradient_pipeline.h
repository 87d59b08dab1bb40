// From gradients to new weights: sieves each bucket when it is complete, sends
// it, and applies the servers' answers.
#ifndef WORKER_GRADIENT_PIPELINE_H_
#define WORKER_GRADIENT_PIPELINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "compressors/compressor.h"
#include "models/model.h"
#include "proto/config.pb.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"
#include "transport/parameter_client.h"
#include "transport/shard_map.h"
#include "worker/answer_writer.h"
#include "worker/bucket_plan.h"
#include "worker/compression_choice.h"
#include "worker/exchange_stats.h"
#include "worker/residuals.h"
#include "worker/task_thread.h"
#include "worker/trace_recorder.h"

namespace ps {

struct GradientPipelineOptions {
  const JobConfig* config = nullptr;  // Not owned, like all pointers here.
  int worker_rank = 0;
  std::vector<ParameterInfo> parameters;  // Of the flat vector.
  std::vector<Bucket> buckets;            // They end where parameters do.
  // Of the buckets, and of whatever comes after them.
  const ShardMap* shard_map = nullptr;
  Backend* backend = nullptr;
  ParameterClient* client = nullptr;
  // Compresses, sends and applies on a thread of its own, while the caller's
  // goes on with earlier layers (tensor/backend.h); the results are the same.
  bool overlap = false;
};

// Not thread-safe. For each iteration: Begin, Ready until the whole vector is
// covered, Await.
class GradientPipeline {
 public:
  static absl::StatusOr<std::unique_ptr<GradientPipeline>> Create(
      const GradientPipelineOptions& options);

  // Records what follows, until it is called again; null: nothing. Not while
  // an iteration goes on. `trace` is not owned.
  void Trace(TraceRecorder* trace) { trace_ = trace; }

  // push: its number, from 0. gradient: the flat vector that the ranges of
  // Ready point into; weights: those that servers sent, of the same shape,
  // changed by Ready and Await as answers come. Both are kept until Await
  // returns.
  void Begin(int64_t push, const Tensor& gradient, const Tensor& weights);

  // Elements [begin, end) are final; ranges come in descending order, as
  // Model::ForwardBackward gives them. Compresses and sends every bucket that
  // is complete now, and applies what has come back of earlier ones, whose
  // weights this iteration needs no more; or has its own thread do so, whose
  // errors this or a later call returns. Errors: kFailedPrecondition for a
  // gradient that is not finite, if the job's policy is FAIL.
  absl::Status Ready(double loss, int64_t begin, int64_t end);

  // The iteration has failed: waits until nothing uses the client or the
  // backend any more. The last call.
  void Abandon();

  // Waits for all answers and writes the new weights.
  absl::StatusOr<ExchangeStats> Await();

  // What the last iteration, from Begin to Await and all around them, took on
  // this worker: with compressor "auto" worker 0 decides by that what all
  // workers do, from the iteration after the next one on.
  void IterationTook(double seconds);

  // Euclidean norm of what this worker keeps back, over all buckets. Reads it
  // all.
  absl::StatusOr<double> ResidualNorm() { return residuals_->Norm(); }

 private:
  explicit GradientPipeline(const GradientPipelineOptions& options);

  TraceRecorder::Row row() const {
    return overlap_ ? TraceRecorder::Row::kExchange
                    : TraceRecorder::Row::kTrainer;
  }
  // Sends the bucket, if there is one, after the backend's mark, and applies
  // what has come: on this object's thread.
  absl::Status SendLater(std::optional<int> bucket, double loss);
  // What is left to the thread is done when this returns.
  absl::Status EndOverlap();
  absl::Status PollAnswers();
  absl::Status Send(int bucket, double loss);
  absl::Status Answered(const SliceAnswer& answer);
  // Of what this worker holds of each slice of a bucket.
  absl::StatusOr<std::vector<uint64_t>> WeightsDigests(int bucket);
  void AddCosts(const SliceAnswer& answer, double apply_seconds);
  void TraceAnswer(const SliceAnswer& answer) const;

  const GradientPipelineOptions options_;
  CompressionChoice choice_;
  AnswerWriter writer_;
  std::vector<std::unique_ptr<Compressor>> compressors_;  // [bucket]
  std::unique_ptr<Residuals> residuals_;
  std::vector<float> staging_;  // A slice's weights on their way.

  TraceRecorder* trace_ = nullptr;  // Not owned; null: nothing is recorded.
  int64_t push_ = 0;
  Tensor gradient_;  // [num_parameters]
  Tensor weights_;   // [num_parameters]
  absl::Time first_push_;
  absl::Time last_answer_;
  int64_t num_answers_ = 0;
  size_t next_bucket_ = 0;
  ExchangeStats stats_;
  // Now the thread has all members but next_bucket_, and the client.
  bool overlap_ = false;
  std::unique_ptr<TaskThread> thread_;  // Null without overlap. Ends first.
};

}  // namespace ps

#endif  // WORKER_GRADIENT_PIPELINE_H_
