// LSTM and GRU layers.
#ifndef MODELS_LAYERS_RECURRENT_H_
#define MODELS_LAYERS_RECURRENT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "models/layers/initializer.h"
#include "models/layers/layer.h"
#include "tensor/sequence_kernels.h"

namespace ps {

struct RecurrentOptions {
  std::string name = "rnn";
  int64_t index = 0;  // The index in a stack of layers that share the name.
  RecurrentShape shape;
  int64_t features = 0;  // The number of features of its input.
  Initializer initializer;
};

// Creates the layer, from [steps, batch, features] to [steps, batch, hidden].
// Parameters, as in PyTorch's LSTM and GRU: `name`.weight_ih_l`index`,
// weight_hh_l, bias_ih_l and bias_hh_l. The state carries over from Forward to
// Forward until ResetState; no gradient flows from one Forward into the
// previous one.
std::unique_ptr<Layer> NewRecurrentLayer(const RecurrentOptions& options);

}  // namespace ps

#endif  // MODELS_LAYERS_RECURRENT_H_
