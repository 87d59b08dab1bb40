// Linear layers, and the initialisers that they share with convolutions.
#ifndef MODELS_LAYERS_AFFINE_LAYERS_H_
#define MODELS_LAYERS_AFFINE_LAYERS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "models/layers/layer.h"
#include "tensor/nn_kernels.h"

namespace ps {

struct AffineInitializers {
  Initializer weight;
  Initializer bias;

  // PyTorch's default.
  static AffineInitializers FanInUniform(int64_t fan_in);
};

// Parameters: `name`.weight and `name`.bias, as in PyTorch's Linear. Takes any
// plain input that flattens to in_features features.
std::unique_ptr<Layer> NewLinearLayer(std::string name, int64_t in_features,
                                      int64_t out_features);
std::unique_ptr<Layer> NewLinearLayer(std::string name, int64_t in_features,
                                      int64_t out_features,
                                      const AffineInitializers& initializers);

}  // namespace ps

#endif  // MODELS_LAYERS_AFFINE_LAYERS_H_
