// The data set "characters": any text, byte by byte.

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/config_check.h"
#include "common/status_macros.h"
#include "common/text_file.h"
#include "data/byte_alphabet.h"
#include "data/config_rules.h"
#include "data/dataset.h"
#include "data/folder.h"
#include "data/text_config.h"
#include "data/text_pair.h"

namespace ps {
namespace {

// The concatenation of all .txt files of the folder.
absl::StatusOr<std::string> ReadTexts(const std::string& directory) {
  PS_ASSIGN_OR_RETURN(const FolderContents contents, ListFolder(directory));
  std::string text;
  for (const std::string& name : contents.files) {
    if (!absl::EndsWith(name, ".txt")) continue;
    PS_ASSIGN_OR_RETURN(const std::string part,
                        ReadRegularText(absl::StrCat(directory, "/", name)));
    text += part;
  }
  if (text.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "data.directory ", directory, " has no .txt file with text in it"));
  }
  return text;
}

absl::StatusOr<DatasetPair> NewCharacters(const DatasetOptions& options) {
  PS_RETURN_IF_ERROR(FirstProblem(options.config, CheckText));
  const TextConfig& config = options.config.text();
  const std::string& directory = options.config.directory();
  PS_ASSIGN_OR_RETURN(const std::string contents, ReadTexts(directory));
  const absl::string_view text = contents;
  // The size of the validation part is rounded, so that 0.1 of ten bytes is one
  // byte.
  const auto validation_size = static_cast<size_t>(
      static_cast<double>(text.size()) * config.validation_fraction() + 0.5);
  const size_t train_size =
      text.size() - std::min(text.size(), validation_size);
  // Covers both parts; otherwise bytes that only the validation part has would
  // have no number.
  const ByteAlphabet alphabet(text);
  return NewCharacterPair(alphabet,
                          {absl::StrCat("the training part of ", directory),
                           text.substr(0, train_size)},
                          {absl::StrCat("the validation part of ", directory),
                           text.substr(train_size)},
                          StepsOf(config, Task::kCharacters));
}

void CheckCharacters(const JobConfig& config, ConfigProblems* problems) {
  RequireDirectory(config, "characters", "the .txt files", "phrase_characters",
                   problems);
}

REGISTER_DATASET("characters",
                 "your own text, character by character, from data.directory",
                 NewCharacters);
const bool kCharactersCheckRegistered = RegisterConfigCheck(CheckCharacters);

}  // namespace
}  // namespace ps
