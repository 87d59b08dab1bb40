// A language model of characters with LSTM or GRU layers, as in Karpathy's
// char-rnn; initial weights are PyTorch's defaults.

#include <memory>

#include "models/model.h"
#include "models/zoo/language_model.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

absl::StatusOr<std::unique_ptr<Model>> NewCharLstm(
    const ModelOptions& options) {
  const CharLstmConfig& config = options.config.char_lstm();
  LanguageModelOptions language_model;
  language_model.recurrent.cell = config.cell() == CharLstmConfig::GRU
                                      ? RecurrentShape::Cell::kGru
                                      : RecurrentShape::Cell::kLstm;
  language_model.recurrent.hidden = config.hidden();
  language_model.layers = config.layers();
  language_model.embedding_size = config.embedding_size();
  language_model.dropout = config.dropout();
  language_model.embedding_initializer = Initializer::Normal(1);
  // All of nn.LSTM's and nn.GRU's parameters have this range.
  language_model.recurrent_initializer =
      Initializer::FanInUniform(config.hidden());
  language_model.output_initializer =
      Initializer::FanInUniform(config.hidden());
  return NewLanguageModel(options, language_model);
}

REGISTER_MODEL("char_lstm", "text, character by character: LSTM or GRU layers",
               NewCharLstm);

}  // namespace
}  // namespace ps
