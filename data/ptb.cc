// Implements the data set "ptb": the words of the Penn Treebank as prepared by
// Mikolov et al. ("Recurrent neural network based language model", Interspeech
// 2010), or any other text in files of these names, one sentence per line.

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/config_check.h"
#include "common/status_macros.h"
#include "common/text_file.h"
#include "data/config_rules.h"
#include "data/dataset.h"
#include "data/text_config.h"
#include "data/text_pair.h"
#include "data/vocabulary.h"

namespace ps {
namespace {

absl::StatusOr<std::string> ReadTreebank(const std::string& path) {
  auto text = ReadRegularText(path);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat(
        text.status().message(),
        "; the Penn Treebank's files are in "
        "http://www.fit.vutbr.cz/~imikolov/rnnlm/simple-examples.tgz"));
  }
  return text;
}

absl::StatusOr<DatasetPair> NewPtb(const DatasetOptions& options) {
  const TextConfig& config = options.config.text();
  const std::string train_path =
      absl::StrCat(options.config.directory(), "/ptb.train.txt");
  const std::string test_path =
      absl::StrCat(options.config.directory(),
                   config.evaluate_on() == TextConfig::TEST ? "/ptb.test.txt"
                                                            : "/ptb.valid.txt");
  PS_ASSIGN_OR_RETURN(const std::string train_text, ReadTreebank(train_path));
  PS_ASSIGN_OR_RETURN(const std::string test_text, ReadTreebank(test_path));
  return NewWordPair(Vocabulary::Of(train_text), {train_path, train_text},
                     {test_path, test_text}, StepsOf(config, Task::kWords));
}

void CheckPtb(const JobConfig& config, ConfigProblems* problems) {
  RequireDirectory(config, "ptb", "ptb.train.txt and the other files",
                   "phrases", problems);
}

REGISTER_DATASET(
    "ptb",
    "the Penn Treebank or your own text, word by word, from data.directory",
    NewPtb);
const bool kPtbCheckRegistered = RegisterConfigCheck(CheckPtb);

}  // namespace
}  // namespace ps
