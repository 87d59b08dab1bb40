// One layer of a network: which weights it has, and how it runs.
//
// A Layer knows no batch size; planned for one, for training or for inference,
// it becomes a PlannedLayer.
#ifndef MODELS_LAYERS_LAYER_H_
#define MODELS_LAYERS_LAYER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/layers/initializer.h"
#include "models/layers/layer_times.h"
#include "models/layers/scratch_pool.h"
#include "tensor/backend.h"
#include "tensor/nn_kernels.h"
#include "tensor/tensor.h"

namespace ps {

struct LayerParameter {
  std::string name;  // "conv1.weight".
  Shape shape;       // PyTorch's layout.
  Initializer initializer;
};

// What a layer learns from the batches without a gradient, such as the running
// mean of batch normalisation. Workers average it now and then.
struct LayerStatistic {
  std::string name;  // "bn1.running_mean".
  Shape shape;
  float initial = 0;
};

struct PlanContext {
  Backend* backend = nullptr;      // Not owned; outlives the planned layers.
  ScratchPool* scratch = nullptr;  // Likewise.
  // Of the composite layers around this one.
  int scratch_depth = 0;
  // Without it, Backward is never called.
  bool training = false;
  // Bytes that planned layers keep for activations: Allocate adds to it.
  int64_t* activation_bytes = nullptr;
  LayerTimes* times = nullptr;  // Not owned.

  // Zeroed memory for a planned layer to keep, counted.
  absl::StatusOr<Tensor> Allocate(const Shape& shape) const;
};

// Pointers are to the backend's memory. Those to weights, gradients and
// statistics begin where the layer's first one does; the others follow it.
class PlannedLayer {
 public:
  virtual ~PlannedLayer() = default;

  virtual const ActivationDesc& output() const = 0;

  // Whether y may be the memory of x, and dx that of dy.
  virtual bool in_place() const { return false; }
  // Whether Backward reads y, respectively x. Memory that nobody reads any
  // more is used again.
  virtual bool backward_reads_output() const { return true; }
  virtual bool backward_reads_input() const { return true; }

  struct ForwardArguments {
    const float* x = nullptr;
    const float* weights = nullptr;
    // Training updates them; inference reads them.
    float* statistics = nullptr;
    float* y = nullptr;  // Overwritten.
    // Of all random draws of this pass; differs from layer to layer.
    uint64_t random_key = 0;
    // The model's flat vector, for weights that belong to another layer.
    const float* model_weights = nullptr;
    // The chain that runs the layer forgets the state of the batch before
    // first; composite layers hand it on.
    bool reset_state = false;
  };
  virtual absl::Status Forward(const ForwardArguments& arguments) = 0;

  struct BackwardArguments {
    const float* x = nullptr;
    const float* y = nullptr;
    // Composite layers may overwrite it.
    float* dy = nullptr;
    const float* weights = nullptr;
    // Both are overwritten. dx is null in the lowest layer with parameters:
    // nobody needs it.
    float* dx = nullptr;
    float* gradient = nullptr;
    // The model's flat vectors, for weights that belong to another layer, whose
    // own Backward comes later and must add to what it finds.
    const float* model_weights = nullptr;
    float* model_gradient = nullptr;
  };
  // Belongs to the latest Forward with the same x and y.
  virtual absl::Status Backward(const BackwardArguments& arguments) = 0;

  // Whether each call with the same pointers gives the backend the same work,
  // and no more than that, so that it may be recorded (tensor/recording.h): the
  // random key does not matter, and nothing waits for a result.
  virtual bool records_forward() const { return true; }
  virtual bool records_backward() const { return true; }

  // Forgets the state that a recurrent layer carries from batch to batch.
  virtual absl::Status ResetState() { return absl::OkStatus(); }
};

class Layer {
 public:
  virtual ~Layer() = default;

  // What it is called in tables of time: "convolution", "lstm". Empty for a
  // layer made of others, which have their own.
  virtual std::string kind() const = 0;

  // In the order of the flat vector; empty for a layer without weights.
  virtual std::vector<LayerParameter> parameters() const { return {}; }
  virtual std::vector<LayerStatistic> statistics() const { return {}; }

  // Errors: kInvalidArgument, naming the shapes, for an input that does not
  // fit.
  virtual absl::StatusOr<std::unique_ptr<PlannedLayer>> Plan(
      const PlanContext& context, const ActivationDesc& input) const = 0;
};

}  // namespace ps

#endif  // MODELS_LAYERS_LAYER_H_
