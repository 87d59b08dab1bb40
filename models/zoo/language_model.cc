#include "models/zoo/language_model.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/layers/affine_layers.h"
#include "models/layers/dropout.h"
#include "models/layers/embedding.h"
#include "models/layers/layer.h"
#include "models/layers/recurrent.h"
#include "models/sequential_model.h"

namespace ps {

absl::StatusOr<std::unique_ptr<Model>> NewLanguageModel(
    const ModelOptions& model, const LanguageModelOptions& options) {
  const int64_t hidden = options.recurrent.hidden;
  const int64_t embedding_size =
      options.embedding_size > 0 ? options.embedding_size : hidden;
  if (!TellsNextToken(model.example.task)) {
    return absl::InvalidArgumentError(
        "a language model needs a data set of text");
  }
  if (options.tied_output && embedding_size != hidden) {
    return absl::InvalidArgumentError(
        absl::StrCat("tied_output with an embedding of ", embedding_size,
                     " and ", hidden, " hidden units: must be equal"));
  }
  std::vector<std::unique_ptr<Layer>> layers;
  const auto add_dropout = [&] {
    if (options.dropout > 0) layers.push_back(NewDropoutLayer(options.dropout));
  };
  EmbeddingOptions embedding;
  embedding.num_tokens = model.example.num_classes;
  embedding.features = embedding_size;
  embedding.initializer = options.embedding_initializer;
  embedding.tied = options.tied_output;
  layers.push_back(NewEmbeddingLayer(embedding));
  add_dropout();
  for (int64_t i = 0; i < options.layers; ++i) {
    RecurrentOptions recurrent;
    recurrent.index = i;
    recurrent.shape = options.recurrent;
    recurrent.features = i == 0 ? embedding_size : hidden;
    recurrent.initializer = options.recurrent_initializer;
    layers.push_back(NewRecurrentLayer(recurrent));
    add_dropout();
  }
  LinearOptions output;
  output.name = "decoder";
  output.in_features = hidden;
  output.out_features = model.example.num_classes;
  output.initializers = {options.output_initializer,
                         options.output_initializer};
  output.each_step = true;
  output.tied = options.tied_output;
  layers.push_back(NewLinearLayer(output));
  return NewSequentialModel(model, std::move(layers));
}

}  // namespace ps
