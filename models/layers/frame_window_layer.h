// A layer that joins several frames into one.
#ifndef MODELS_LAYERS_FRAME_WINDOW_LAYER_H_
#define MODELS_LAYERS_FRAME_WINDOW_LAYER_H_

#include <memory>

#include "models/layers/layer.h"
#include "tensor/sequence_kernels.h"

namespace ps {

// Creates the layer. Input: [steps, batch, features]; see FrameWindowShape.
std::unique_ptr<Layer> NewFrameWindowLayer(const FrameWindowShape& shape);

}  // namespace ps

#endif  // MODELS_LAYERS_FRAME_WINDOW_LAYER_H_
