// The layer of a convolution.
#ifndef MODELS_LAYERS_CONVOLUTION_H_
#define MODELS_LAYERS_CONVOLUTION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "models/layers/affine_layers.h"
#include "models/layers/layer.h"
#include "tensor/nn_kernels.h"

namespace ps {

// Creates the layer. Parameters: `name`.weight and, if the shape has a bias,
// `name`.bias, as in PyTorch's Conv2d, with its initial values or the given
// ones.
std::unique_ptr<Layer> NewConvolutionLayer(std::string name,
                                           int64_t in_channels,
                                           const ConvolutionShape& shape);
std::unique_ptr<Layer> NewConvolutionLayer(
    std::string name, int64_t in_channels, const ConvolutionShape& shape,
    const AffineInitializers& initializers);

// Returns a square kernel without a bias, as is usual before normalisation.
ConvolutionShape SquareKernel(int64_t out_channels, int64_t extent,
                              int64_t stride = 1);

// Return the number of inputs of one output, and of outputs of one input.
int64_t FanIn(int64_t in_channels, const ConvolutionShape& shape);
int64_t FanOut(const ConvolutionShape& shape);

}  // namespace ps

#endif  // MODELS_LAYERS_CONVOLUTION_H_
