// The layer of dropout.
#ifndef MODELS_LAYERS_DROPOUT_H_
#define MODELS_LAYERS_DROPOUT_H_

#include <memory>

#include "models/layers/layer.h"

namespace ps {

// Creates the layer. In training, it drops each element with `probability`,
// which is in [0, 1); it does nothing in inference. It takes any shape and
// layout, and can work in place.
std::unique_ptr<Layer> NewDropoutLayer(double probability);

}  // namespace ps

#endif  // MODELS_LAYERS_DROPOUT_H_
