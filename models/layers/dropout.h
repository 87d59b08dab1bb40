// Dropout as a layer.
#ifndef MODELS_LAYERS_DROPOUT_H_
#define MODELS_LAYERS_DROPOUT_H_

#include <memory>

#include "models/layers/layer.h"

namespace ps {

// Drops each element with `probability`, in [0, 1), in training; in inference
// does nothing. Any shape, any layout, in place.
std::unique_ptr<Layer> NewDropoutLayer(double probability);

}  // namespace ps

#endif  // MODELS_LAYERS_DROPOUT_H_
