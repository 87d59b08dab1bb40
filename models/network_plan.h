// A network with its loss, planned for one shape of batch, either for training
// or for inference.
#ifndef MODELS_NETWORK_PLAN_H_
#define MODELS_NETWORK_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/batch.h"
#include "models/layers/batch_result.h"
#include "models/layers/chain.h"
#include "models/layers/layer_times.h"
#include "models/layers/loss.h"
#include "models/model.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"

namespace ps {

// The options of a plan. The pointers are not owned.
struct NetworkPlanOptions {
  const std::vector<PlacedLayer>* layers = nullptr;
  const Loss* loss = nullptr;
  ExampleShape example;
  int64_t batch_size = 0;
  int64_t steps = 0;  // Text and speech: steps in a row.
  bool training = false;
  Backend* backend = nullptr;
  LayerTimes* times = nullptr;
  InputUpload* upload = nullptr;  // Null if the backend has none.
  // Counts recordings of training work that repeats (stretch_recorder.h); null
  // if nothing is recorded.
  RecordingCounts* recordings = nullptr;
};

// A plan. Not thread-safe.
class NetworkPlan {
 public:
  // Creates a plan, and allocates all memory. Errors: kInvalidArgument if the
  // layers do not fit together, or do not end in num_classes outputs for each
  // target; kResourceExhausted.
  static absl::StatusOr<std::unique_ptr<NetworkPlan>> Create(
      const NetworkPlanOptions& options);

  // Computes the loss. batch: of this plan's shape; batches of speech may have
  // fewer frames, and are padded with silence. weights, statistics: those of
  // the whole network. Training keeps the input of Backward. sent: whether the
  // latest Send of the upload took the batch's inputs.
  absl::StatusOr<BatchResult> Forward(const Batch& batch, bool sent,
                                      const float* weights, float* statistics);

  // Copies the logits of the latest Forward to *outputs, in plain order, for
  // inference plans: training overwrites them.
  absl::Status CopyOutputs(std::vector<float>* outputs);

  // Computes the gradient of the latest Forward, which returned `forward`, for
  // training plans. borders: as in Model::ReportGradientFrom.
  absl::Status Backward(const BatchResult& forward, const float* weights,
                        float* gradient, const std::vector<int64_t>& borders,
                        const GradientReady& ready);

  // Save and load the state of recurrent layers, for checkpoints. Errors:
  // kDataLoss unless *bytes were saved by a plan of the same shape.
  absl::Status SaveState(std::string* bytes) const {
    return chain_->SaveState(bytes);
  }
  absl::Status LoadState(absl::string_view bytes);

  // The bytes of activations and of gradients of activations.
  int64_t activation_bytes() const;

 private:
  explicit NetworkPlan(const NetworkPlanOptions& options) : options_(options) {}

  static absl::StatusOr<std::unique_ptr<NetworkPlan>> CreateOrThrow(
      const NetworkPlanOptions& options);

  absl::Status CopyInputs(const std::vector<float>& inputs, bool sent);

  const NetworkPlanOptions options_;
  ScratchPool scratch_;
  int64_t activation_bytes_ = 0;
  Tensor input_;
  std::unique_ptr<PlannedChain> chain_;
  std::unique_ptr<StretchRecorder> recorder_;  // Null if nothing is recorded.
  Tensor output_;                              // Logits.
  // The gradient of output_; in the same memory, unless the last layer needs
  // its output.
  Tensor output_gradient_;
  std::unique_ptr<PlannedLoss> loss_;
  // The first CopyOutputs sets it.
  std::unique_ptr<UnaryOp> reorder_outputs_;
  Tensor plain_outputs_;
  size_t loss_time_ = 0;
};

}  // namespace ps

#endif  // MODELS_NETWORK_PLAN_H_
