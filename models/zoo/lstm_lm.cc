// The LSTM language model of words: Zaremba, Sutskever, Vinyals, "Recurrent
// neural network regularization", arXiv 1409.2329. Their medium model is 2 x
// 650 with initial weights in +-0.05 and dropout 0.5, their large one 2 x 1500
// with +-0.04 and 0.65.
//
// The large one has 66,034,000 parameters for 10,000 words: twice 15,000,000 in
// embedding and output, 36,024,000 in the LSTM, 10,000 in the output's bias.
// Papers say "66 million", which is also true with one bias for each LSTM layer
// (66,022,000). PyTorch, whose layouts are used here, keeps two biases and adds
// them.

#include <memory>

#include "absl/strings/str_cat.h"
#include "common/config_check.h"
#include "models/model.h"
#include "models/zoo/language_model.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

absl::StatusOr<std::unique_ptr<Model>> NewLstmLm(const ModelOptions& options) {
  const LstmLmConfig& config = options.config.lstm_lm();
  LanguageModelOptions language_model;
  language_model.recurrent.cell = RecurrentShape::Cell::kLstm;
  language_model.recurrent.hidden = config.hidden();
  language_model.layers = config.layers();
  language_model.embedding_size = config.embedding_size();
  language_model.dropout = config.dropout();
  language_model.tied_output = config.tied_output();
  const Initializer initializer = Initializer::Uniform(config.initial_range());
  language_model.embedding_initializer = initializer;
  language_model.recurrent_initializer = initializer;
  language_model.output_initializer = initializer;
  return NewLanguageModel(options, language_model);
}

REGISTER_MODEL("lstm_lm", "text, word by word: embedding and LSTM layers",
               NewLstmLm);

void CheckLstmLm(const JobConfig& job, ConfigProblems* problems) {
  const LstmLmConfig& config = job.model().lstm_lm();
  if (config.tied_output() && config.embedding_size() != 0 &&
      config.embedding_size() != config.hidden()) {
    problems->Add("model.lstm_lm.embedding_size",
                  absl::StrCat(config.embedding_size()),
                  "must be 0 or `hidden` with tied_output");
  }
}

[[maybe_unused]] const bool kCheckRegistered = RegisterConfigCheck(CheckLstmLm);

}  // namespace
}  // namespace ps
