// Layers with a weight and a bias: convolution and linear.
#ifndef MODELS_LAYERS_AFFINE_LAYERS_H_
#define MODELS_LAYERS_AFFINE_LAYERS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "models/layers/layer.h"
#include "tensor/nn_kernels.h"

namespace ps {

// Parameters: `name`.weight and `name`.bias, as of PyTorch's Conv2d.
std::unique_ptr<Layer> NewConvolutionLayer(std::string name,
                                           int64_t in_channels,
                                           const ConvolutionShape& shape);

// Parameters: `name`.weight and `name`.bias, as of PyTorch's Linear. Takes any
// plain input whose features are in_features when flattened.
std::unique_ptr<Layer> NewLinearLayer(std::string name, int64_t in_features,
                                      int64_t out_features);

}  // namespace ps

#endif  // MODELS_LAYERS_AFFINE_LAYERS_H_
