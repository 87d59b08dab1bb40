// Residual addition: two paths from an input, and a ReLU of their sum (He et
// al., "Deep residual learning for image recognition", CVPR 2016).
#ifndef MODELS_LAYERS_RESIDUAL_BLOCK_H_
#define MODELS_LAYERS_RESIDUAL_BLOCK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/layers/layer.h"
#include "tensor/nn_kernels.h"

namespace ps {

struct ResidualBlockParts {
  // At least one layer; none may overwrite the block's input.
  std::vector<std::unique_ptr<Layer>> main;
  // The batch normalisation at the end of the main path. It adds the shortcut
  // and applies the ReLU in the same pass over memory.
  std::string norm_name;
  int64_t channels = 0;
  float epsilon = BatchNormShape().epsilon;
  float momentum = BatchNormShape().momentum;
  // If empty, the input itself.
  std::vector<std::unique_ptr<Layer>> shortcut;
};

// Names a block that a config describes by what all names in it share, up to a
// dot, and takes that out of those: "layer1.0" for "layer1.0.conv1" and
// "layer1.0.bn1".
void NameBlock(LayerConfig* block);

// y = relu(norm(main(x)) + shortcut(x)). Parameters and statistics are in the
// order main, norm, shortcut.
std::unique_ptr<Layer> NewResidualBlock(ResidualBlockParts parts);

}  // namespace ps

#endif  // MODELS_LAYERS_RESIDUAL_BLOCK_H_
