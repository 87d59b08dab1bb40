#include "data/text_pair.h"

#include <memory>
#include <utility>

#include "common/status_macros.h"
#include "data/token_windows.h"

namespace ps {
namespace {

absl::StatusOr<std::unique_ptr<Dataset>> NewWords(const Vocabulary& vocabulary,
                                                  const NamedText& named,
                                                  int64_t steps) {
  TokenText text;
  text.task = Task::kWords;
  text.vocabulary_size = vocabulary.size();
  auto tokens = vocabulary.Numbers(named.text);
  if (!tokens.ok()) return Annotate(tokens.status(), named.name);
  text.tokens = *std::move(tokens);
  auto windows = NewTokenWindows(std::move(text), steps);
  if (!windows.ok()) return Annotate(windows.status(), named.name);
  return windows;
}

absl::StatusOr<std::unique_ptr<Dataset>> NewCharacters(
    const ByteAlphabet& alphabet, const NamedText& named, int64_t steps) {
  TokenText text;
  text.task = Task::kCharacters;
  text.vocabulary_size = alphabet.size();
  text.tokens = alphabet.Numbers(named.text);
  auto windows = NewTokenWindows(std::move(text), steps);
  if (!windows.ok()) return Annotate(windows.status(), named.name);
  return windows;
}

}  // namespace

absl::StatusOr<DatasetPair> NewWordPair(const Vocabulary& vocabulary,
                                        const NamedText& train,
                                        const NamedText& test, int64_t steps) {
  DatasetPair pair;
  PS_ASSIGN_OR_RETURN(pair.train, NewWords(vocabulary, train, steps));
  PS_ASSIGN_OR_RETURN(pair.test, NewWords(vocabulary, test, steps));
  return pair;
}

absl::StatusOr<DatasetPair> NewCharacterPair(const ByteAlphabet& alphabet,
                                             const NamedText& train,
                                             const NamedText& test,
                                             int64_t steps) {
  DatasetPair pair;
  PS_ASSIGN_OR_RETURN(pair.train, NewCharacters(alphabet, train, steps));
  PS_ASSIGN_OR_RETURN(pair.test, NewCharacters(alphabet, test, steps));
  return pair;
}

}  // namespace ps
