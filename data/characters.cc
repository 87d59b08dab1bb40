// Implements the data set "characters": any text, byte by byte.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

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

// The fraction of the text that evaluations use if data.validation_fraction
// does not say it.
constexpr double kValidationFraction = 0.1;

// Returns the concatenation of all .txt files of the folder. *note names the
// files that are not read.
absl::StatusOr<std::string> ReadTexts(const std::string& directory,
                                      std::string* note) {
  PS_ASSIGN_OR_RETURN(const FolderContents contents, ListFolder(directory));
  std::string text;
  std::vector<std::string> unread;
  for (const std::string& name : contents.folders) {
    unread.push_back(absl::StrCat(directory, "/", name, "/"));
  }
  for (const std::string& name : contents.files) {
    const std::string path = absl::StrCat(directory, "/", name);
    if (!absl::EndsWith(name, ".txt")) {
      unread.push_back(path);
      continue;
    }
    PS_ASSIGN_OR_RETURN(const std::string part, ReadRegularText(path));
    text += part;
  }
  *note = Unread(unread, "texts are .txt files in data.directory itself");
  if (text.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "data.directory ", directory, " has no .txt file with text in it"));
  }
  return text;
}

absl::StatusOr<DatasetPair> NewCharacters(const DatasetOptions& options) {
  const std::string& directory = options.config.directory();
  std::string note;
  PS_ASSIGN_OR_RETURN(const std::string contents, ReadTexts(directory, &note));
  const absl::string_view text = contents;
  const double fraction = options.config.validation_fraction();
  // The size of the validation part is rounded, so that 0.1 of ten bytes is one
  // byte.
  const auto validation_size =
      static_cast<size_t>(static_cast<double>(text.size()) *
                              (fraction == 0 ? kValidationFraction : fraction) +
                          0.5);
  const size_t train_size =
      text.size() - std::min(text.size(), validation_size);
  // The alphabet covers both parts; otherwise bytes that only the validation
  // part has would have no number.
  const ByteAlphabet alphabet(text);
  PS_ASSIGN_OR_RETURN(
      DatasetPair pair,
      NewCharacterPair(alphabet,
                       {absl::StrCat("the training part of ", directory),
                        text.substr(0, train_size)},
                       {absl::StrCat("the validation part of ", directory),
                        text.substr(train_size)},
                       StepsOf(options.config.text(), Task::kCharacters)));
  if (!note.empty()) pair.notes.push_back(std::move(note));
  return pair;
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
