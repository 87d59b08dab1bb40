#include "models/speech/transcript_errors.h"

#include <algorithm>
#include <string>
#include <vector>

#include "common/random.h"
#include "gtest/gtest.h"
#include "models/speech/edit_distance.h"

namespace ps {
namespace {

int64_t Distance(const std::string& a, const std::string& b) {
  return EditDistance(absl::MakeConstSpan(a), absl::MakeConstSpan(b));
}

TEST(EditDistance, CountsInsertionsDeletionsAndSubstitutions) {
  EXPECT_EQ(Distance("", ""), 0);
  EXPECT_EQ(Distance("abc", ""), 3);
  EXPECT_EQ(Distance("", "ab"), 2);
  EXPECT_EQ(Distance("abc", "abc"), 0);
  EXPECT_EQ(Distance("abc", "axc"), 1);
  EXPECT_EQ(Distance("abc", "ac"), 1);
  EXPECT_EQ(Distance("ac", "abc"), 1);
  EXPECT_EQ(Distance("kitten", "sitting"), 3);
  EXPECT_EQ(Distance("intention", "execution"), 5);
}

// The distance by its recursive definition, which tries all possibilities.
int64_t SlowDistance(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) {
    return static_cast<int64_t>(std::max(a.size(), b.size()));
  }
  const std::string rest_a = a.substr(1), rest_b = b.substr(1);
  return std::min({SlowDistance(rest_a, rest_b) + (a[0] == b[0] ? 0 : 1),
                   SlowDistance(rest_a, b) + 1, SlowDistance(a, rest_b) + 1});
}

TEST(EditDistance, EqualsItsRecursiveDefinition) {
  RandomStream random(RandomKey(1));
  const auto draw = [&] {
    std::string text(random.Below(7), ' ');
    for (char& c : text) c = static_cast<char>('a' + random.Below(3));
    return text;
  };
  for (int i = 0; i < 200; ++i) {
    const std::string a = draw(), b = draw();
    EXPECT_EQ(Distance(a, b), SlowDistance(a, b)) << a << " and " << b;
  }
}

constexpr int32_t kSpace = ' ';

std::vector<int32_t> Classes(const std::string& text) {
  return std::vector<int32_t>(text.begin(), text.end());
}

TranscriptErrors Compare(const std::string& heard,
                         const std::string& transcript,
                         int32_t space = kSpace) {
  return CompareTranscripts(Classes(heard), Classes(transcript), space);
}

TEST(CompareTranscripts, CountsCharactersAndWords) {
  const TranscriptErrors errors = Compare("STOP THE RABIT", "START THE RABBIT");
  EXPECT_EQ(errors.character_errors, 4);
  EXPECT_EQ(errors.characters, 16);
  EXPECT_EQ(errors.word_errors, 2);
  EXPECT_EQ(errors.words, 3);
}

TEST(CompareTranscripts, ALostSpaceIsOneCharacterButTwoWords) {
  const TranscriptErrors errors = Compare("GOHOME", "GO HOME");
  EXPECT_EQ(errors.character_errors, 1);
  EXPECT_EQ(errors.word_errors, 2);
}

TEST(CompareTranscripts, SpacesMakeNoEmptyWords) {
  const TranscriptErrors errors = Compare("  GO   HOME ", "GO HOME");
  EXPECT_EQ(errors.character_errors, 5);
  EXPECT_EQ(errors.word_errors, 0);
  EXPECT_EQ(errors.words, 2);
}

TEST(CompareTranscripts, ErrorsMayOutnumberTheTranscript) {
  const TranscriptErrors errors = Compare("A B C", "");
  EXPECT_EQ(errors.character_errors, 5);
  EXPECT_EQ(errors.characters, 0);
  EXPECT_EQ(errors.word_errors, 3);
  EXPECT_EQ(errors.words, 0);
}

TEST(CompareTranscripts, WithoutASpaceAllIsOneWord) {
  const TranscriptErrors errors = Compare("A B", "A C", /*space=*/-1);
  EXPECT_EQ(errors.words, 1);
  EXPECT_EQ(errors.word_errors, 1);
}

}  // namespace
}  // namespace ps
