// A network with its loss, as the trainer sees it.
#ifndef MODELS_MODEL_H_
#define MODELS_MODEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/batch.h"
#include "common/registry.h"
#include "models/batch_result.h"
#include "models/layers/layer_times.h"
#include "proto/model_config.pb.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"

namespace ps {

// One tensor of weights. All lie one after the other in a flat vector, in the
// order of the forward pass.
struct ParameterInfo {
  std::string name;    // As PyTorch's model of the same architecture has it.
  Shape shape;         // PyTorch's layout.
  int64_t offset = 0;  // In the flat vector, in elements.
};

// The gradient of flat elements [begin, end) is final. Called during backward,
// from its thread, last layer first, with what forward found; the ranges tile
// the flat vector.
using GradientReady = std::function<absl::Status(const BatchResult& forward,
                                                 int64_t begin, int64_t end)>;

// Not thread-safe. Any batch size is accepted; each new one is planned, for
// training and for evaluation apart, and the plans of the latest few are kept.
// State that a recurrent layer carries from batch to batch belongs to a plan.
class Model {
 public:
  virtual ~Model() = default;

  virtual const std::vector<ParameterInfo>& parameters() const = 0;
  virtual int64_t num_parameters() const = 0;

  // Writes initial weights, a pure function of `seed`. weights:
  // [num_parameters], host memory.
  virtual void InitializeWeights(uint64_t seed, float* weights) const = 0;

  // What is learnt without a gradient (the running means and variances of
  // batch normalisation), as `parameters` says it of the weights: where each
  // lies in statistics_values, [elements] in the backend's memory.
  // ForwardBackward updates them, Evaluate reads them; whoever has several
  // workers averages them. They begin with their initial values.
  virtual const std::vector<ParameterInfo>& statistics() const = 0;
  virtual Tensor& statistics_values() = 0;

  // Mean loss of the batch, and its gradient. weights, gradient:
  // [num_parameters] in the backend's memory; gradient is overwritten. Stops
  // at the first error that `ready`, which may be null, returns.
  virtual absl::StatusOr<BatchResult> ForwardBackward(
      const Batch& batch, const Tensor& weights, Tensor* gradient,
      const GradientReady& ready) = 0;

  // Errors of both: kInvalidArgument for an empty batch, inputs that do not
  // fit the examples' shape, a label that is no class, or a wrong number of
  // weights.
  virtual absl::StatusOr<BatchResult> Evaluate(const Batch& batch,
                                               const Tensor& weights) = 0;

  // Speech: frames of a recording for each output; a last part counts as whole.
  virtual int64_t frames_per_output() const { return 1; }

  // Where steps are recorded: `ready` need only be told of the gradient when
  // elements from one of these places on are final, the beginnings of buckets;
  // ranges in between may come as one. The work in between is one recording.
  virtual void ReportGradientFrom(std::vector<int64_t>) {}

  // Since the start, or the last Clear, of training and evaluation.
  virtual LayerTimes& layer_times() = 0;
  // Memory of the activations, and of their gradients, in all plans that there
  // are. Scratch memory of single operations is not in it.
  virtual int64_t activation_bytes() const = 0;
};

struct ModelOptions {
  ModelConfig config;
  ExampleShape example;
  Backend* backend = nullptr;  // Not owned; outlives the model.
  // Records the work of a training step when a batch of its shape comes again,
  // as far as it is the same each time (tensor/recording.h). Changes no result.
  bool records_steps = false;
};

using ModelFactory =
    absl::StatusOr<std::unique_ptr<Model>> (*)(const ModelOptions&);

// Every architecture that is linked in.
Registry<ModelFactory>& ModelRegistry();

// The one that options.config names. Errors: kInvalidArgument for an unknown
// name, or an example shape that the architecture cannot take.
absl::StatusOr<std::unique_ptr<Model>> NewModel(const ModelOptions& options);

#define REGISTER_MODEL(name, factory)               \
  static const bool ps_model_registered_##factory = \
      ::ps::ModelRegistry().Register(name, factory)

}  // namespace ps

#endif  // MODELS_MODEL_H_
