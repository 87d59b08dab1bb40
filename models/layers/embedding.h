// The first layer of a text model: a learned vector for each token.
#ifndef MODELS_LAYERS_EMBEDDING_H_
#define MODELS_LAYERS_EMBEDDING_H_

#include <cstdint>
#include <memory>
#include <string>

#include "models/layers/initializer.h"
#include "models/layers/layer.h"

namespace ps {

struct EmbeddingOptions {
  std::string name = "encoder";
  int64_t num_tokens = 0;
  int64_t features = 0;
  Initializer initializer;
  // Whether a tied output layer above shares the table. It has already written
  // its part of the gradient when this layer's Backward adds the rest.
  bool tied = false;
};

// Creates the layer, from tokens [steps, batch] to [steps, batch, features].
// Parameter: `name`.weight, as in PyTorch's Embedding. It must be the first
// layer, since it passes no gradient on.
std::unique_ptr<Layer> NewEmbeddingLayer(const EmbeddingOptions& options);

}  // namespace ps

#endif  // MODELS_LAYERS_EMBEDDING_H_
