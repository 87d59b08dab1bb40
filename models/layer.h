// One layer of a network: which weights it has, and how it runs.
//
// A Layer knows no batch size; planned for one, it becomes a PlannedLayer.
#ifndef MODELS_LAYER_H_
#define MODELS_LAYER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/nn_kernels.h"
#include "tensor/tensor.h"

namespace ps {

struct LayerParameter {
  std::string name;    // "conv1.weight".
  Shape shape;         // PyTorch's layout.
  int64_t fan_in = 0;  // Inputs of one output, which set the initial range.
};

// Pointers are to the backend's memory. `weights` and `gradient` begin where
// the layer's first parameter does; the others follow it.
class PlannedLayer {
 public:
  virtual ~PlannedLayer() = default;

  virtual const ActivationDesc& output() const = 0;

  virtual absl::Status Forward(const float* x, const float* weights,
                               float* y) = 0;

  struct BackwardArguments {
    const float* x = nullptr;
    const float* y = nullptr;
    const float* dy = nullptr;
    const float* weights = nullptr;
    // Both are overwritten. dx is null in the lowest layer with parameters:
    // nobody needs it.
    float* dx = nullptr;
    float* gradient = nullptr;
  };
  // Belongs to the latest Forward with the same x and y.
  virtual absl::Status Backward(const BackwardArguments& arguments) = 0;
};

class Layer {
 public:
  virtual ~Layer() = default;

  // In the order of the flat vector; empty for a layer without weights.
  virtual std::vector<LayerParameter> parameters() const = 0;

  // Errors: kInvalidArgument, naming the shapes, for an input that does not
  // fit.
  virtual absl::StatusOr<std::unique_ptr<PlannedLayer>> Plan(
      NnKernels& nn, const ActivationDesc& input) const = 0;
};

}  // namespace ps

#endif  // MODELS_LAYER_H_
