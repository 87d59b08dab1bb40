// Plans the stages of a network that one worker has, and the loss, for one
// batch size.
#ifndef WORKER_LAYER_PARALLEL_STAGED_NETWORK_H_
#define WORKER_LAYER_PARALLEL_STAGED_NETWORK_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/batch.h"
#include "models/layers/batch_result.h"
#include "models/layers/layer_times.h"
#include "models/layers/loss.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"
#include "worker/layer_parallel/network_cuts.h"
#include "worker/layer_parallel/stage_links.h"
#include "worker/layer_parallel/stage_plan.h"

namespace ps {

// The vectors of the whole model. Not owned.
struct StepVectors {
  const float* weights = nullptr;
  float* statistics = nullptr;  // These are updated.
  float* gradient = nullptr;    // The mean over the batch; overwritten.
};

// The stages, for training only. Not thread-safe.
class StagedNetwork {
 public:
  // The options. The pointers are not owned and must outlive the network.
  // Errors: those of the layers' Plan; kResourceExhausted.
  struct Options {
    const std::vector<Stage>* stages = nullptr;
    // The links to the other workers, each of which has one stage. Null if this
    // worker has all stages.
    StageLinks* links = nullptr;
    ExampleShape example;
    int64_t batch_size = 0;
    Backend* backend = nullptr;
    LayerTimes* times = nullptr;
  };
  static absl::StatusOr<std::unique_ptr<StagedNetwork>> Create(
      const Options& options);

  // The number of stages of the whole network.
  int num_stages() const { return static_cast<int>(plans_.size()); }
  // This worker's first and last stage, which all functions below concern.
  int first() const {
    return options_.links == nullptr ? 0 : options_.links->worker();
  }
  int last() const {
    return options_.links == nullptr ? num_stages() - 1 : first();
  }
  bool has_loss() const { return last() + 1 == num_stages(); }
  // The links; null if this worker has all stages.
  StageLinks* links() const { return options_.links; }
  int64_t batch_size() const { return options_.batch_size; }
  // Returns the shape of one example at the start of any stage k, [channels,
  // height, width].
  Shape start_shape(int k) const;
  StagePlan& stage(int k) { return *plans_[k]; }
  StagePlan::Values StageValues(int k, const Batch& batch,
                                const StepVectors& vectors) const;
  float* StageGradient(int k, const StepVectors& vectors) const {
    return vectors.gradient + (*options_.stages)[k].begin;
  }

  // Computes the loss of the last stage's latest Forward; logits_gradient() is
  // then that of the mean loss.
  absl::StatusOr<BatchResult> RunLoss(const Batch& batch);
  const float* logits_gradient() const { return logits_gradient_.data(); }

  // Backpropagates through all stages, those of other workers included, one
  // after the other. At the cut before stage k, the activations are then
  // start(k), and the gradient of the mean loss is stage(k).start_gradient().
  // The result is that of a worker with has_loss(); others have only the number
  // of examples.
  absl::StatusOr<BatchResult> SerialStep(const Batch& batch,
                                         const StepVectors& vectors);
  // The plain activations of stage(k).start_shape(), until the next step.
  const float* start(int k) const { return starts_[k]; }

  int64_t activation_bytes() const;

 private:
  explicit StagedNetwork(const Options& options) : options_(options) {}

  const Options options_;
  std::vector<std::unique_ptr<StagePlan>> plans_;  // Null for others' stages.
  std::vector<Shape> start_shapes_;
  std::vector<const float*> starts_;
  std::vector<float> received_start_;
  std::vector<float> received_gradient_;
  std::unique_ptr<Loss> loss_;
  std::unique_ptr<PlannedLoss> planned_loss_;
  ScratchPool scratch_;
  int64_t loss_bytes_ = 0;
  Tensor logits_gradient_;  // [batch, classes]
};

}  // namespace ps

#endif  // WORKER_LAYER_PARALLEL_STAGED_NETWORK_H_
