// The function that training minimises.
#ifndef MODELS_LAYERS_LOSS_H_
#define MODELS_LAYERS_LOSS_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/batch.h"
#include "common/labelled_sequences.h"
#include "models/layers/batch_result.h"
#include "models/layers/layer.h"
#include "tensor/nn_kernels.h"

namespace ps {

class PlannedLoss {
 public:
  virtual ~PlannedLoss() = default;

  // Computes the loss. logits: as planned, in the backend's memory. dlogits,
  // which has the same size, receives the gradient of the mean loss unless it
  // is null; it may be the memory of the logits. Errors: kInvalidArgument,
  // naming example and value, for labels that are not classes.
  virtual absl::StatusOr<BatchResult> Run(const Batch& batch,
                                          const float* logits,
                                          float* dlogits) = 0;
};

class Loss {
 public:
  virtual ~Loss() = default;

  // Implements Model::CheckSequences.
  virtual absl::Status CheckSequences(const LabelledSequences&) const {
    return absl::OkStatus();
  }

  // Plans the loss. Errors: kInvalidArgument for logits of the wrong shape.
  virtual absl::StatusOr<std::unique_ptr<PlannedLoss>> Plan(
      const PlanContext& context, const ActivationDesc& logits) const = 0;
};

// Creates the mean cross entropy of softmax(logits); logits: [batch, classes],
// or [steps, batch, classes] with labels [steps, batch].
std::unique_ptr<Loss> NewSoftmaxCrossEntropy();

}  // namespace ps

#endif  // MODELS_LAYERS_LOSS_H_
