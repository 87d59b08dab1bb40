// The data set "labelled_text", over files that the test writes.

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "data/dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/data/scratch_folder.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LabelledText : public testing::Test {
 protected:
  LabelledText() {
    options_.config.set_name("labelled_text");
    options_.config.set_directory(folder_.path());
    options_.config.mutable_labelled_text()->set_steps(4);
  }

  void ExpectError(absl::StatusCode code, const std::string& reason) {
    const auto pair = NewDataset(options_);
    EXPECT_EQ(pair.status().code(), code) << pair.status();
    EXPECT_THAT(std::string(pair.status().message()), HasSubstr(reason));
  }

  ScratchFolder folder_;
  DatasetOptions options_;
};

TEST_F(LabelledText, WordsAreNumberedByFrequencyAndStandAtTheEnd) {
  // "good" three times, "bad" and "," twice ("bad" comes first), then "it's"
  // and "né".
  folder_.Write(
      "train.tsv",
      "pos\tGood, good\r\n\n neg \tbad it's bad\npos\tn\xC3\xA9,good");
  folder_.Write("test.tsv", "neg\tBAD! new\n");
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_THAT(pair->notes, IsEmpty());
  const ExampleShape shape = pair->train->example_shape();
  EXPECT_EQ(shape.task, Task::kTexts);
  EXPECT_EQ(shape.steps, 4);
  EXPECT_EQ(shape.num_classes, 2);
  EXPECT_EQ(shape.vocabulary, 7);
  EXPECT_EQ(pair->train->order(), ExampleOrder::kShuffled);
  EXPECT_THAT(pair->train->class_names(), ElementsAre("neg", "pos"));
  EXPECT_EQ(pair->train->example_name(1), "train.tsv line 3");
  Batch batch;
  batch.steps = 9;
  ASSERT_TRUE(pair->train->Read({0, 1, 2}, 0, &batch).ok());
  EXPECT_EQ(batch.size(), 3);
  EXPECT_THAT(batch.labels, ElementsAre(1, 0, 1));
  EXPECT_THAT(batch.inputs, ElementsAre(0, 0, 0,  //
                                        2, 4, 6,  //
                                        3, 5, 3,  //
                                        2, 4, 2));
  ASSERT_TRUE(pair->test->Read({0}, 0, &batch).ok());
  EXPECT_THAT(batch.inputs, ElementsAre(0, 4, 1, 1));
}

TEST_F(LabelledText, WhatIsNotReadIsCountedAndSaid) {
  folder_.Write("train.tsv", "a\tone two three four five\nb\tone two\n");
  folder_.Write("test.tsv", "a\tone two three four\n");
  options_.config.mutable_labelled_text()->set_vocabulary(4);
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_THAT(pair->notes,
              ElementsAre(AllOf(HasSubstr("1 text of "), HasSubstr("train.tsv"),
                                HasSubstr("labelled_text.steps = 4"))));
  EXPECT_EQ(pair->train->example_shape().vocabulary, 4);
  Batch batch;
  ASSERT_TRUE(pair->train->Read({0}, 0, &batch).ok());
  EXPECT_THAT(batch.inputs, ElementsAre(2, 3, 1, 1));
}

TEST_F(LabelledText, PartOfTheTextsIsHeldOut) {
  std::string texts;
  for (int i = 0; i < 20; ++i) absl::StrAppend(&texts, "a\tword", i, "\n");
  folder_.Write("train.tsv", texts);
  ExpectError(absl::StatusCode::kNotFound, "data.validation_fraction=0.1");
  options_.config.set_validation_fraction(0.1);
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->train->size(), 18);
  EXPECT_EQ(pair->test->size(), 2);
  // Each text a class of its own, two of them held out.
  texts.clear();
  for (int i = 0; i < 20; ++i) absl::StrAppend(&texts, i, "\tword\n");
  folder_.Write("train.tsv", texts);
  const auto classes = NewDataset(options_);
  ASSERT_TRUE(classes.ok()) << classes.status();
  EXPECT_EQ(classes->train->example_shape().num_classes, 20);
  folder_.Write("test.tsv", "a\tword\n");
  ExpectError(absl::StatusCode::kInvalidArgument, "there is a test set");
}

TEST_F(LabelledText, BadLinesAreNamed) {
  folder_.Write("test.tsv", "a\tone\n");
  folder_.Write("train.tsv", "a\tone\na two\n");
  ExpectError(absl::StatusCode::kDataLoss, "line 2: it has no tab");
  folder_.Write("train.tsv", " \tone\n");
  ExpectError(absl::StatusCode::kDataLoss, "line 1: there is no class");
  folder_.Write("train.tsv", "a\t \n");
  ExpectError(absl::StatusCode::kDataLoss, "line 1: there is no word");
  folder_.Write("train.tsv", "\n");
  ExpectError(absl::StatusCode::kDataLoss, "train.tsv has no text");
  folder_.Write("train.tsv", "b\tone\n");
  ExpectError(absl::StatusCode::kDataLoss,
              "test.tsv line 1: no training text has the class \"a\"");
}

TEST_F(LabelledText, OtherTextsHaveAnotherDescription) {
  folder_.Write("train.tsv", "a\tone two\nb\ttwo one\n");
  folder_.Write("test.tsv", "a\tone\n");
  const auto first = NewDataset(options_);
  ASSERT_TRUE(first.ok()) << first.status();
  folder_.Write("train.tsv", "a\tone two\nb\tone two\n");
  const auto second = NewDataset(options_);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE(first->description.text(), second->description.text());
}

}  // namespace
}  // namespace ps
