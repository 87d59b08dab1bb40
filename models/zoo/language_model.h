// Creates text models: an embedding, a stack of recurrent layers, and a linear
// output, with dropout between them (Zaremba, Sutskever, Vinyals, "Recurrent
// neural network regularization", arXiv 1409.2329). The parameters are named
// encoder, rnn and decoder, as in PyTorch's example of a word language model.
#ifndef MODELS_ZOO_LANGUAGE_MODEL_H_
#define MODELS_ZOO_LANGUAGE_MODEL_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "models/layers/initializer.h"
#include "models/model.h"
#include "tensor/sequence_kernels.h"

namespace ps {

struct LanguageModelOptions {
  RecurrentShape recurrent;  // The shape of each layer.
  int64_t layers = 2;
  int64_t embedding_size = 0;  // 0 means the number of hidden units.
  // The fraction of the inputs of each recurrent layer, and of the output
  // layer, that training sets to 0. In [0, 1).
  double dropout = 0;
  bool tied_output = false;
  Initializer embedding_initializer;
  Initializer recurrent_initializer;
  Initializer output_initializer;
};

// Creates the model. Errors: kInvalidArgument for examples that are not text,
// options out of range, or a tied output whose embedding is not as wide as the
// hidden layers.
absl::StatusOr<std::unique_ptr<Model>> NewLanguageModel(
    const ModelOptions& model, const LanguageModelOptions& options);

}  // namespace ps

#endif  // MODELS_ZOO_LANGUAGE_MODEL_H_
