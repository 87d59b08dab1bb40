#include "tools/evaluate/confusion.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Confusion, CountsEachClassByTheClassWithTheLargestLogit) {
  Confusion confusion({"cat", "dog", "eel"});
  ASSERT_TRUE(confusion
                  .Add({0, 1, 1}, {3, 1, 2,  //
                                   0, -1, 5, 2, 7, 7})
                  .ok());
  ASSERT_TRUE(confusion.Add({0}, {-3, -2, -9}).ok());
  EXPECT_EQ(confusion.count(0, 0), 1);
  EXPECT_EQ(confusion.count(0, 1), 1);
  EXPECT_EQ(confusion.count(1, 2), 1);
  // Of equal logits, the first counts.
  EXPECT_EQ(confusion.count(1, 1), 1);
  EXPECT_EQ(confusion.Text(),
            "Each row has the examples of one class, by the class that the "
            "model took them for:\n"
            "class  cat  dog  eel   right\n"
            "cat      1    1    .  50.0 %\n"
            "dog      .    1    1  50.0 %\n"
            "eel      .    .    .       -\n");
  nlohmann::ordered_json json;
  confusion.AddTo(&json);
  EXPECT_EQ(json.dump(), R"({"classes":["cat","dog","eel"],)"
                         R"("confusion":[[1,1,0],[0,1,1],[0,0,0]]})");
}

TEST(Confusion, LongNamesDoNotMakeTheTableWide) {
  std::vector<std::string> names;
  for (int c = 0; c < 9; ++c) names.push_back(absl::StrCat("long name ", c));
  Confusion confusion(names);
  const std::vector<float> logits = {0, 0, 1, 0, 0, 0, 0, 0, 0};
  ASSERT_TRUE(confusion.Add({1}, logits).ok());
  EXPECT_THAT(confusion.Text(),
              AllOf(HasSubstr("class          0  1  2  3  4  5  6  7  8  "),
                    HasSubstr("1 long name 1  .  .  1  .  ")));
}

TEST(Confusion, OfManyClassesOnlyThePairsAreShown) {
  std::vector<std::string> names;
  for (int64_t c = 0; c <= kMaxShownClasses; ++c) {
    names.push_back(absl::StrCat("class-", c));
  }
  Confusion confusion(names);
  EXPECT_THAT(confusion.Text(), HasSubstr("No class was taken for another"));
  std::vector<float> logits(names.size());
  logits[5] = 1;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(confusion.Add({7}, logits).ok());
  ASSERT_TRUE(confusion.Add({8}, logits).ok());
  ASSERT_TRUE(confusion.Add({5}, logits).ok());
  logits[7] = 2;
  ASSERT_TRUE(confusion.Add({7}, logits).ok());
  const std::string text = confusion.Text();
  EXPECT_THAT(text, AllOf(HasSubstr("Of 21 classes"), HasSubstr("25.0 %"),
                          Not(HasSubstr("class-9"))));
  EXPECT_LT(text.find("class-7"), text.find("class-8"));
}

TEST(Confusion, WhatDoesNotFitIsRefusedWithTheNumbers) {
  Confusion confusion({"a", "b"});
  EXPECT_THAT(std::string(confusion.Add({0}, {1, 2, 3}).message()),
              HasSubstr("3 logits for 1 examples of 2 classes"));
  EXPECT_THAT(std::string(confusion.Add({2}, {1, 2}).message()),
              HasSubstr("label 2; there are 2 classes"));
  EXPECT_THAT(std::string(confusion.Add({-1}, {1, 2}).message()),
              HasSubstr("label -1"));
}

}  // namespace
}  // namespace ps
