#include "common/data_description.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

DataDescription Classes(const std::vector<std::string>& names) {
  DataDescription description;
  description.Add("training examples", "6");
  description.AddList("class", names);
  return description;
}

TEST(DataDescription, SaysWhatItWasTold) {
  EXPECT_THAT(Classes({"cat", "a\n\"b\""}).text(),
              HasSubstr("training examples: 6\nclass 0: \"cat\"\nclass 1: "
                        "\"a\\n\\\"b\\\"\"\nall of class: 2, digest "));
}

// Controls of ASCII and of Latin-1, which terminals may obey.
TEST(DataDescription, ControlCharactersAreEscaped) {
  const std::string text = Classes({"del\x7f",
                                    "csi\xc2\x9b"
                                    "2J",
                                    "Käse\xc2\xa0"})
                               .text();
  EXPECT_THAT(text, HasSubstr("class 0: \"del\\u007f\"\nclass 1: "
                              "\"csi\\u009b2J\"\nclass 2: \"Käse\xc2\xa0\""));
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    EXPECT_FALSE(HasControlCharacters(line)) << line;
  }
  EXPECT_TRUE(HasControlCharacters("a\x7f"));
  EXPECT_TRUE(HasControlCharacters("\xc2\x80"));
  EXPECT_FALSE(HasControlCharacters("\xc3\x80 \xc2"));
}

TEST(DataDescription, EqualDataDoNotDiffer) {
  EXPECT_EQ(DescribeDataDifference(Classes({"cat", "dog"}).text(),
                                   Classes({"cat", "dog"}).text()),
            "");
  EXPECT_EQ(DescribeDataDifference("", ""), "");
}

TEST(DataDescription, ADifferenceIsNamedWithBothValues) {
  EXPECT_THAT(DescribeDataDifference(Classes({"dog", "zcat"}).text(),
                                     Classes({"cat", "dog"}).text()),
              AllOf(HasSubstr("class 0: \"cat\" there and \"dog\" here; class "
                              "1: \"dog\" there and \"zcat\" here"),
                    Not(HasSubstr("training examples"))));
  EXPECT_THAT(DescribeDataDifference(Classes({"cat"}).text(),
                                     Classes({"cat", "dog"}).text()),
              HasSubstr("class 1: \"dog\" there and nothing here"));
  EXPECT_THAT(DescribeDataDifference(Classes({"cat"}).text(), ""),
              HasSubstr("training examples: nothing there and 6 here"));
}

TEST(DataDescription, NamesAtMostThreeDifferences) {
  const std::string difference =
      DescribeDataDifference(Classes({"a", "b", "c", "d", "e"}).text(),
                             Classes({"b", "c", "d", "e", "f"}).text());
  EXPECT_THAT(difference,
              AllOf(HasSubstr("class 2: "), HasSubstr("; and 3 more"),
                    Not(HasSubstr("class 3: "))));
}

// Bytes that are not UTF-8 look alike; their digest does not.
TEST(DataDescription, NamesThatLookAlikeDiffer) {
  EXPECT_THAT(DescribeDataDifference(Classes({"\xff"}).text(),
                                     Classes({"\xfe"}).text()),
              HasSubstr("all of class: 1, digest "));
}

TEST(DataDescription, TheMeaningIsWithoutTheExamplesAndTheNamesOfClasses) {
  DataDescription description;
  description.Add("training examples", "7");
  description.Add("classes", "2");
  description.AddList("class", {"cat", "dog"});
  description.AddList("test file", {"a.png"});
  description.AddDigest("test text", "a b");
  description.Add("image", "3 x 8 x 8");
  description.AddDigest("frozen weights (model.initial_weights)", "w");
  description.Add("trainings", "3");
  description.AddList("word", {"a: b"});
  DataDescription meaning;
  meaning.Add("trainings", "3");
  meaning.AddList("word", {"a: b"});
  EXPECT_EQ(MeaningOfNumbers(description.text()), meaning.text());
}

TEST(DataDescription, ALongListIsBoundedAndItsEndCounts) {
  std::vector<std::string> words;
  for (int i = 0; i < 200000; ++i) words.push_back(absl::StrCat("word", i));
  DataDescription here;
  for (const char* name : {"a", "b", "c"}) here.AddList(name, words);
  EXPECT_LE(here.text().size(), kMaxDataDescriptionBytes);
  words.back() = "other";
  DataDescription there;
  for (const char* name : {"a", "b", "c"}) there.AddList(name, words);
  EXPECT_THAT(DescribeDataDifference(here.text(), there.text()),
              HasSubstr("all of c: 200000, digest "));
}

TEST(DataDescription, TextsOfStrangersAreNoProblem) {
  for (const std::string& text :
       {std::string("\n\n\n"), std::string("no colon"), std::string(70000, 'x'),
        std::string("a: 1\na: 2\n"), std::string("\xc3\xa9", 2)}) {
    const std::string difference = DescribeDataDifference("a: 0\n", text);
    EXPECT_NE(difference, "");
    EXPECT_LT(difference.size(), 1000);
  }
}

}  // namespace
}  // namespace ps
