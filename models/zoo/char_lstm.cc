// A language model of characters with LSTM or GRU layers, as in Karpathy's
// char-rnn; initial weights are PyTorch's defaults.

#include <memory>

#include "absl/strings/str_cat.h"
#include "common/config_check.h"
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

void CheckCharLstm(const JobConfig& job, ConfigProblems* problems) {
  const CharLstmConfig& config = job.model().char_lstm();
  const auto check = [&](bool holds, const char* field, double value,
                         const char* rule) {
    if (!holds) {
      problems->Add(absl::StrCat("model.char_lstm.", field),
                    absl::StrCat(value), rule);
    }
  };
  check(config.layers() >= 1 && config.layers() <= 16, "layers",
        config.layers(), "must be 1 to 16");
  check(config.hidden() >= 1 && config.hidden() <= 16384, "hidden",
        config.hidden(), "must be 1 to 16384");
  check(config.embedding_size() >= 0 && config.embedding_size() <= 16384,
        "embedding_size", config.embedding_size(), "must be 0 to 16384");
  check(config.dropout() >= 0 && config.dropout() < 1, "dropout",
        config.dropout(), "must be in [0, 1)");
}

[[maybe_unused]] const bool kCheckRegistered =
    RegisterConfigCheck(CheckCharLstm);

}  // namespace
}  // namespace ps
