#include "data/text_pair.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "data/token_windows.h"

namespace ps {
namespace {

absl::StatusOr<TokenText> WordsOf(const Vocabulary& vocabulary,
                                  const NamedText& named) {
  TokenText text;
  text.task = Task::kWords;
  text.vocabulary_size = vocabulary.size();
  auto tokens = vocabulary.Numbers(named.text);
  if (!tokens.ok()) return Annotate(tokens.status(), named.name);
  text.tokens = *std::move(tokens);
  return text;
}

TokenText CharactersOf(const ByteAlphabet& alphabet, const NamedText& named) {
  TokenText text;
  text.task = Task::kCharacters;
  text.vocabulary_size = alphabet.size();
  text.tokens = alphabet.Numbers(named.text);
  return text;
}

// Adds the training set or, for evaluation, the test set.
absl::Status AddText(const NamedText& named, TokenText text, int64_t steps,
                     DatasetPair* pair) {
  const bool is_test = text.for_evaluation;
  const std::string part = is_test ? "test" : "training";
  pair->description.Add(absl::StrCat(part, " tokens"),
                        absl::StrCat(text.tokens.size()));
  pair->description.AddDigest(
      absl::StrCat(part, " text"),
      absl::string_view(reinterpret_cast<const char*>(text.tokens.data()),
                        text.tokens.size() * sizeof(int32_t)));
  auto windows = NewTokenWindows(std::move(text), steps);
  if (!windows.ok()) return Annotate(windows.status(), named.name);
  (is_test ? pair->test : pair->train) = *std::move(windows);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DatasetPair> NewWordPair(const Vocabulary& vocabulary,
                                        const NamedText& train,
                                        const NamedText& test, int64_t steps) {
  DatasetPair pair;
  pair.description.AddList("word", vocabulary.words());
  PS_ASSIGN_OR_RETURN(TokenText train_words, WordsOf(vocabulary, train));
  PS_RETURN_IF_ERROR(AddText(train, std::move(train_words), steps, &pair));
  PS_ASSIGN_OR_RETURN(TokenText test_words, WordsOf(vocabulary, test));
  test_words.for_evaluation = true;
  PS_RETURN_IF_ERROR(AddText(test, std::move(test_words), steps, &pair));
  return pair;
}

absl::StatusOr<DatasetPair> NewCharacterPair(const ByteAlphabet& alphabet,
                                             const NamedText& train,
                                             const NamedText& test,
                                             int64_t steps) {
  DatasetPair pair;
  pair.description.Add("alphabet", absl::CHexEscape(alphabet.bytes()));
  PS_RETURN_IF_ERROR(
      AddText(train, CharactersOf(alphabet, train), steps, &pair));
  TokenText test_characters = CharactersOf(alphabet, test);
  test_characters.for_evaluation = true;
  PS_RETURN_IF_ERROR(AddText(test, std::move(test_characters), steps, &pair));
  return pair;
}

}  // namespace ps
