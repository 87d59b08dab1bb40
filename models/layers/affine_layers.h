// Linear layers, and the code that they share with convolutions.
#ifndef MODELS_LAYERS_AFFINE_LAYERS_H_
#define MODELS_LAYERS_AFFINE_LAYERS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "models/layers/layer.h"
#include "tensor/nn_kernels.h"

namespace ps {

struct AffineInitializers {
  Initializer weight;
  Initializer bias;

  // Returns PyTorch's defaults.
  static AffineInitializers FanInUniform(int64_t fan_in);
};

// A planned operation, and the place of its parameters.
struct AffinePlan {
  std::unique_ptr<AffineOp> op;
  // The distance of the bias from the layer's first parameter, in elements;
  // unset if there is no bias.
  std::optional<int64_t> bias_offset;
  // Whether the weight is the first parameter of the model, not of the layer.
  bool tied = false;
};

std::unique_ptr<PlannedLayer> NewPlannedAffine(AffinePlan plan);

struct LinearOptions {
  std::string name;
  int64_t in_features = 0;
  int64_t out_features = 0;
  AffineInitializers initializers;
  // Whether the layer is applied at every step of a sequence, from [steps,
  // batch, in_features] to [steps, batch, out_features]. Otherwise it takes any
  // plain input that flattens to in_features features.
  bool each_step = false;
  // Whether the weight is the table of an embedding, the first parameter of the
  // model, [out_features, in_features]: Inan et al., "Tying word vectors and
  // word classifiers", and Press and Wolf, "Using the output embedding to
  // improve language models", both 2017. The embedding layer must also be
  // `tied`.
  bool tied = false;
};

// Creates a linear layer. Parameters: `name`.weight, unless tied, and
// `name`.bias, as in PyTorch's Linear.
std::unique_ptr<Layer> NewLinearLayer(const LinearOptions& options);

// Creates a linear layer of flattened features, with PyTorch's initial values
// or those given.
std::unique_ptr<Layer> NewLinearLayer(std::string name, int64_t in_features,
                                      int64_t out_features);
std::unique_ptr<Layer> NewLinearLayer(std::string name, int64_t in_features,
                                      int64_t out_features,
                                      const AffineInitializers& initializers);

}  // namespace ps

#endif  // MODELS_LAYERS_AFFINE_LAYERS_H_
