// Residual addition: two paths from an input, and a ReLU of their sum (He et
// al., "Deep residual learning for image recognition", CVPR 2016).
#ifndef MODELS_LAYERS_RESIDUAL_BLOCK_H_
#define MODELS_LAYERS_RESIDUAL_BLOCK_H_

#include <memory>
#include <vector>

#include "models/layers/batch_norm.h"
#include "models/layers/layer.h"

namespace ps {

struct ResidualBlockParts {
  // At least one layer; none may overwrite the block's input.
  std::vector<std::unique_ptr<Layer>> main;
  // The batch normalisation at the end of the main path. It adds the shortcut
  // and applies the ReLU in the same pass over memory.
  BatchNormOptions norm;  // `after` must be kNothing.
  // The shortcut; if empty, the input itself.
  std::vector<std::unique_ptr<Layer>> shortcut;
};

// Names a block that a config describes by the common prefix of all names in
// it, up to a dot, and removes it from those: "layer1.0" for "layer1.0.conv1"
// and "layer1.0.bn1".
void NameBlock(LayerConfig* block);

// Creates the layer y = relu(norm(main(x)) + shortcut(x)). Parameters and
// statistics are in the order main, norm, shortcut.
std::unique_ptr<Layer> NewResidualBlock(ResidualBlockParts parts);

}  // namespace ps

#endif  // MODELS_LAYERS_RESIDUAL_BLOCK_H_
