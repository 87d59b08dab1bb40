// Residual addition: two ways from an input, and ReLU of their sum (He et al.,
// "Deep residual learning for image recognition", CVPR 2016).
#ifndef MODELS_LAYERS_RESIDUAL_BLOCK_H_
#define MODELS_LAYERS_RESIDUAL_BLOCK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/layers/layer.h"

namespace ps {

struct ResidualBlockParts {
  // At least one layer; none of them in place of the block's input.
  std::vector<std::unique_ptr<Layer>> main;
  // The batch normalisation that ends the main way, where the sum and the ReLU
  // are part of the same pass over memory.
  std::string norm_name;
  int64_t channels = 0;
  // Empty: the input as it is.
  std::vector<std::unique_ptr<Layer>> shortcut;
};

// y = relu(norm(main(x)) + shortcut(x)). Parameters and statistics in the order
// main, norm, shortcut.
std::unique_ptr<Layer> NewResidualBlock(ResidualBlockParts parts);

}  // namespace ps

#endif  // MODELS_LAYERS_RESIDUAL_BLOCK_H_
