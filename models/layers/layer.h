// The interface of a network's layers: their weights, and how they run.
//
// A Layer does not depend on the batch size. Planning it for one, for training
// or for inference, creates a PlannedLayer.
#ifndef MODELS_LAYERS_LAYER_H_
#define MODELS_LAYERS_LAYER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/layers/initializer.h"
#include "models/layers/layer_times.h"
#include "models/layers/scratch_pool.h"
#include "proto/layers_config.pb.h"
#include "tensor/backend.h"
#include "tensor/nn_kernels.h"
#include "tensor/tensor.h"

namespace ps {

struct LayerParameter {
  std::string name;  // "conv1.weight".
  Shape shape;       // The shape in PyTorch's layout.
  Initializer initializer;
};

// A value that a layer learns from the batches without a gradient, such as the
// running mean of batch normalisation (a buffer in PyTorch). Workers average it
// from time to time.
struct LayerStatistic {
  std::string name;  // "bn1.running_mean".
  Shape shape;
  float initial = 0;
};

// The layers of a network as a config lists them.
using LayerConfigs = google::protobuf::RepeatedPtrField<LayerConfig>;

struct PlanContext {
  Backend* backend = nullptr;      // Not owned; outlives the planned layers.
  ScratchPool* scratch = nullptr;  // Not owned.
  // The nesting depth of this layer in composite layers.
  int scratch_depth = 0;
  // Whether Backward is ever called.
  bool training = false;
  // The bytes that planned layers keep for activations; Allocate adds to it.
  int64_t* activation_bytes = nullptr;
  LayerTimes* times = nullptr;  // Not owned.

  // Returns zeroed memory for a planned layer; adds to activation_bytes.
  absl::StatusOr<Tensor> Allocate(const Shape& shape) const;
};

// A layer, planned for one shape. Pointers are to the backend's memory.
// Pointers to weights, gradients and statistics are to the layer's first one;
// its others follow.
class PlannedLayer {
 public:
  virtual ~PlannedLayer() = default;

  virtual const ActivationDesc& output() const = 0;

  // Whether y may be the memory of x, and dx that of dy.
  virtual bool in_place() const { return false; }
  // Whether Backward reads y and x, respectively. Memory that is no longer read
  // is reused.
  virtual bool backward_reads_output() const { return true; }
  virtual bool backward_reads_input() const { return true; }

  struct ForwardArguments {
    const float* x = nullptr;
    const float* weights = nullptr;
    // The statistics, which training updates and inference reads.
    float* statistics = nullptr;
    float* y = nullptr;  // Overwritten.
    // The key of all random draws of this pass; differs from layer to layer.
    uint64_t random_key = 0;
    // The model's flat vector, for weights that belong to another layer.
    const float* model_weights = nullptr;
    // Whether the chain that runs the layer first calls ResetState; composite
    // layers pass it on.
    bool reset_state = false;
  };
  virtual absl::Status Forward(const ForwardArguments& arguments) = 0;

  struct BackwardArguments {
    const float* x = nullptr;
    const float* y = nullptr;
    // The gradient of y, which composite layers may overwrite.
    float* dy = nullptr;
    const float* weights = nullptr;
    // Both are overwritten. dx is null in the lowest layer with parameters,
    // where it is not needed.
    float* dx = nullptr;
    float* gradient = nullptr;
    // The model's flat vectors, for weights that belong to another layer. That
    // layer's own Backward runs later, and must add to the gradient it finds.
    const float* model_weights = nullptr;
    float* model_gradient = nullptr;
  };
  // Backpropagates the latest Forward, with the same x and y.
  virtual absl::Status Backward(const BackwardArguments& arguments) = 0;

  // The function, if this layer is an activation function and nothing else.
  virtual std::optional<Activation> activation() const { return std::nullopt; }
  // Fuses the function of the layer that follows in place, if that saves a pass
  // over memory: Forward's y is then the function's value, and Backward reads y
  // and overwrites dy. Returns false if nothing changes.
  virtual bool TakeActivation(Activation) { return false; }

  // Whether every call with the same pointers gives the backend exactly the
  // same work and does nothing else, so that it can be recorded
  // (tensor/recording.h): the work must not depend on the random key, and
  // nothing may wait for a result.
  virtual bool records_forward() const { return true; }
  virtual bool records_backward() const { return true; }

  // Clears the state that a recurrent layer carries from batch to batch.
  virtual absl::Status ResetState() { return absl::OkStatus(); }
  // Append this state to *bytes for a checkpoint, and consume it from their
  // front (RecurrentOp). Composite layers save the state of their layers.
  virtual absl::Status SaveState(std::string*) const {
    return absl::OkStatus();
  }
  virtual absl::Status LoadState(absl::string_view*) {
    return absl::OkStatus();
  }
};

class Layer {
 public:
  virtual ~Layer() = default;

  // The layer's kind in tables of time: "convolution", "lstm". Empty for a
  // composite layer, whose layers have their own kinds.
  virtual std::string kind() const = 0;

  // The parameters in flat order; empty for a layer without weights.
  virtual std::vector<LayerParameter> parameters() const { return {}; }
  virtual std::vector<LayerStatistic> statistics() const { return {}; }

  // Appends the config of this layer. Its name is the common prefix of the
  // names of its tensors.
  virtual void Describe(LayerConfigs* layers) const = 0;

  // Plans the layer. Errors: kInvalidArgument, naming the shapes, for an input
  // that does not fit.
  virtual absl::StatusOr<std::unique_ptr<PlannedLayer>> Plan(
      const PlanContext& context, const ActivationDesc& input) const = 0;
};

}  // namespace ps

#endif  // MODELS_LAYERS_LAYER_H_
