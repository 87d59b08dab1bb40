// The interface of a network with its loss, for the trainer.
#ifndef MODELS_MODEL_H_
#define MODELS_MODEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/batch.h"
#include "common/labelled_sequences.h"
#include "common/registry.h"
#include "models/layers/batch_result.h"
#include "models/layers/layer_times.h"
#include "proto/layers_config.pb.h"
#include "proto/model_config.pb.h"
#include "tensor/backend.h"
#include "tensor/parameter_info.h"
#include "tensor/recording.h"
#include "tensor/tensor.h"

namespace ps {

// Reports that the gradient of flat elements [begin, end) is final. Called
// during the backward pass, from its thread, last layer first, with the result
// of the forward pass; the ranges tile the flat vector or, after
// ReportGradientFrom, at least the part above its lowest place.
using GradientReady = std::function<absl::Status(const BatchResult& forward,
                                                 int64_t begin, int64_t end)>;

// A model. Not thread-safe. Accepts any batch size. Each new size is planned,
// separately for training and for evaluation, and the most recently used plans
// are kept. A batch that continues restores the state of recurrent layers after
// the latest batch if that had as many rows, and begins with zeros otherwise;
// training and evaluation have their own state.
class Model {
 public:
  virtual ~Model() = default;

  virtual const std::vector<ParameterInfo>& parameters() const = 0;
  virtual int64_t num_parameters() const = 0;

  // Describes the network as model.layers lists it: a job with these layers has
  // the same parameters, with the same initial values and the same gradients.
  virtual LayersConfig Describe() const = 0;

  // Writes initial weights, a pure function of `seed`. weights:
  // [num_parameters], host memory.
  virtual void InitializeWeights(uint64_t seed, float* weights) const = 0;

  // The values that are learned without a gradient, PyTorch's buffers (the
  // running means and variances of batch normalisation). As parameters() does
  // for weights, this describes where each lies in statistics_values(), which
  // is [elements] in the backend's memory. ForwardBackward updates the values
  // and Evaluate reads them; with several workers, the caller averages them.
  // They start at their initial values.
  virtual const std::vector<ParameterInfo>& statistics() const = 0;
  virtual Tensor& statistics_values() = 0;

  // Uploads the inputs of the next batch to the device while it still computes,
  // where that saves time. Until it is used, the batch must not change. `batch`
  // must be given to no other model.
  virtual absl::Status Upload(Batch*) { return absl::OkStatus(); }

  // Computes the mean loss of the batch and its gradient. weights, gradient:
  // [num_parameters] in the backend's memory; gradient is overwritten. Stops at
  // the first error that `ready`, which may be null, returns.
  virtual absl::StatusOr<BatchResult> ForwardBackward(
      const Batch& batch, const Tensor& weights, Tensor* gradient,
      const GradientReady& ready) = 0;

  // Computes the loss without a gradient. Errors of ForwardBackward, Evaluate
  // and Predict: kInvalidArgument for an empty batch, inputs that do not fit
  // the examples' shape, a label that is not a class, or a wrong number of
  // weights.
  virtual absl::StatusOr<BatchResult> Evaluate(const Batch& batch,
                                               const Tensor& weights) = 0;
  // Like Evaluate, and copies the last layer's output to *outputs: for images
  // and text, num_classes logits for each target, one target after the other.
  virtual absl::StatusOr<BatchResult> Predict(const Batch& batch,
                                              const Tensor& weights,
                                              std::vector<float>* outputs) = 0;

  // Plans a step on batches of this size, and discards the plan. Returns the
  // bytes that it would take, as for activation_bytes(). Errors:
  // kInvalidArgument if a layer cannot train on them.
  virtual absl::StatusOr<int64_t> PlanBytes(int64_t /*batch_size*/,
                                            bool /*training*/) {
    return 0;
  }

  // Checks that each sequence is long enough for its labels. Errors:
  // kInvalidArgument, with the number of sequences that are not and the name of
  // the first.
  virtual absl::Status CheckSequences(const LabelledSequences&) const {
    return absl::OkStatus();
  }

  // Save and load the state of recurrent layers, which carries over from one
  // training batch to the next: opaque bytes for a checkpoint. Load is for a
  // model that has not trained yet. Errors: kDataLoss for bytes that a model of
  // the same architecture did not save.
  virtual absl::StatusOr<std::string> SaveState() const = 0;
  virtual absl::Status LoadState(absl::string_view bytes) = 0;

  // Sets the beginnings of the gradient's buckets. Layers below the lowest of
  // them may get no gradient, which is then not reported either. If steps are
  // recorded, `ready` may be called only when all elements from one of these
  // places on are final, with ranges in between joined. The work between two
  // places is one recording.
  virtual void ReportGradientFrom(std::vector<int64_t>) {}

  // The times of training and evaluation since the start or the last Clear.
  virtual LayerTimes& layer_times() = 0;
  // The recordings made since the start, if steps are recorded.
  virtual RecordingCounts recordings() const { return RecordingCounts(); }
  // The memory of the activations and their gradients in all current plans.
  // Scratch memory of single operations is not included.
  virtual int64_t activation_bytes() const = 0;
};

struct ModelOptions {
  ModelConfig config;
  ExampleShape example;
  Backend* backend = nullptr;  // Not owned; outlives the model.
  // Whether to record the work of a training step when a batch of its shape
  // comes again, as far as the work is the same each time (tensor/recording.h).
  // Does not change any result.
  bool records_steps = false;
};

using ModelFactory =
    absl::StatusOr<std::unique_ptr<Model>> (*)(const ModelOptions&);

// Returns the registry of all architectures that are linked in.
Registry<ModelFactory>& ModelRegistry();

// Creates the model that options.config names. Errors: kInvalidArgument for an
// unknown name, or an example shape that the architecture does not support.
absl::StatusOr<std::unique_ptr<Model>> NewModel(const ModelOptions& options);

// Registers a model; `meaning` describes it in one line, for lists.
#define REGISTER_MODEL(name, meaning, factory)      \
  static const bool ps_model_registered_##factory = \
      ::ps::ModelRegistry().Register(name, meaning, factory)

}  // namespace ps

#endif  // MODELS_MODEL_H_
