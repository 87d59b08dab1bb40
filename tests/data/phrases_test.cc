// The generated text: the choice of a word depends on the words before it.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "data/dataset.h"
#include "data/phrase_text.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words;
  for (const auto& line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    for (const auto& word : absl::StrSplit(line, ' ')) words.emplace_back(word);
    words.push_back("<eos>");
  }
  return words;
}

template <typename Map>
double Entropy(const Map& counts) {
  double total = 0, sum = 0;
  for (const auto& entry : counts) total += entry.second;
  for (const auto& entry : counts) {
    sum -= entry.second / total * std::log(entry.second / total);
  }
  return sum;
}

TEST(PhraseTextTest, SentencesAreLinesOfWordsWithSingleSpaces) {
  const std::string text = DrawSentences(1, 500);
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  EXPECT_EQ(lines.size(), 501);
  EXPECT_EQ(lines.back(), "");
  for (size_t i = 0; i < 500; ++i) {
    const std::vector<std::string> words = absl::StrSplit(lines[i], ' ');
    EXPECT_GE(words.size(), 5) << lines[i];
    EXPECT_LE(words.size(), 11) << lines[i];
    for (const std::string& word : words) EXPECT_NE(word, "") << lines[i];
  }
}

TEST(PhraseTextTest, NounsAndVerbsAgreeInNumber) {
  const std::vector<std::string> lines =
      absl::StrSplit(DrawSentences(2, 500), '\n', absl::SkipEmpty());
  for (const std::string& line : lines) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    const bool has_adverb =
        words[2] == "often" || words[2] == "never" || words[2] == "always";
    const std::string& verb = words[has_adverb ? 3 : 2];
    const bool one = words[0] == "a" || words[0] == "this" ||
                     words[0] == "every" ||
                     (words[0] == "the" && words[1].back() != 's');
    EXPECT_EQ(words[1].back() == 's', !one) << line;
    EXPECT_EQ(verb.back() == 's', one) << line;
  }
}

// A model of single words cannot get below the first entropy, a model of pairs
// reaches the second, and more context lowers it further.
TEST(PhraseTextTest, TheWordsBeforeAreWorthAlmostHalfOfTheEntropy) {
  const std::vector<std::string> words = Words(DrawSentences(3, 20000));
  std::map<std::string, double> single;
  std::map<std::string, double> pairs, triples;
  for (size_t i = 2; i < words.size(); ++i) {
    ++single[words[i]];
    ++pairs[words[i - 1] + " " + words[i]];
    ++triples[words[i - 2] + " " + words[i - 1] + " " + words[i]];
  }
  const double unigram = Entropy(single);
  const double bigram = Entropy(pairs) - unigram;
  const double trigram = Entropy(triples) - Entropy(pairs);
  RecordProperty("unigram", std::to_string(unigram));
  RecordProperty("bigram", std::to_string(bigram));
  RecordProperty("trigram", std::to_string(trigram));
  EXPECT_GT(unigram, 3.5);
  EXPECT_LT(bigram, 0.6 * unigram);
  EXPECT_LT(trigram, 0.9 * bigram);
  EXPECT_GT(trigram, 0.5);  // Not everything is predictable.
}

TEST(PhrasesTest, TheVocabularyIsSmallAndItsOwn) {
  DatasetOptions options;
  options.config.set_name("phrases");
  const auto words = NewDataset(options);
  ASSERT_TRUE(words.ok()) << words.status();
  EXPECT_GT(words->train->example_shape().num_classes, 120);
  EXPECT_LT(words->train->example_shape().num_classes, 200);
  options.config.set_name("phrase_characters");
  const auto characters = NewDataset(options);
  ASSERT_TRUE(characters.ok()) << characters.status();
  // Letters, space and line feed.
  EXPECT_LE(characters->train->example_shape().num_classes, 28);
  EXPECT_GE(characters->train->example_shape().num_classes, 24);
}

}  // namespace
}  // namespace ps
