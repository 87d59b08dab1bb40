// The data sets "ptb" and "characters", over files that the test writes and
// over real ones.
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "data/dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/data/scratch_folder.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TextTest : public testing::Test {
 protected:
  TextTest() {
    options_.config.set_name("ptb");
    options_.config.set_directory(folder_.path());
    options_.config.mutable_text()->set_steps(3);
  }

  void ExpectError(absl::StatusCode code, const std::string& reason) {
    const auto pair = NewDataset(options_);
    EXPECT_EQ(pair.status().code(), code) << pair.status();
    EXPECT_THAT(std::string(pair.status().message()), HasSubstr(reason));
  }

  ScratchFolder folder_;
  DatasetOptions options_;
};

TEST_F(TextTest, WordsAreNumberedByFrequencyAndLinesHaveAnEnd) {
  // <eos> 3 times, b and a twice (b comes first), c once.
  folder_.Write("ptb.train.txt", " b a \n a b\nc\n");
  folder_.Write("ptb.valid.txt", "c b\na c\n");
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  const ExampleShape shape = pair->train->example_shape();
  EXPECT_EQ(shape.task, Task::kWords);
  EXPECT_EQ(shape.num_classes, 4);
  EXPECT_EQ(shape.steps, 3);
  EXPECT_EQ(pair->train->order(), ExampleOrder::kSequential);
  // b a <eos> a b <eos> c <eos>: two windows, and a token after the second.
  EXPECT_EQ(pair->train->size(), 2);
  Batch batch;
  ASSERT_TRUE(pair->train->Read({0, 1}, 0, &batch).ok());
  EXPECT_EQ(batch.size(), 2);
  EXPECT_THAT(batch.inputs, ElementsAre(1, 2, 2, 1, 0, 0));
  EXPECT_THAT(batch.labels, ElementsAre(2, 1, 0, 0, 2, 3));
  ASSERT_TRUE(pair->test->Read({0}, 0, &batch).ok());
  EXPECT_THAT(batch.inputs, ElementsAre(3, 1, 0));
  EXPECT_THAT(batch.labels, ElementsAre(1, 0, 2));
}

TEST_F(TextTest, TheTestPartIsReadWhereItIsAskedFor) {
  folder_.Write("ptb.train.txt", "a b c\n");
  folder_.Write("ptb.valid.txt", "a b c\n");
  folder_.Write("ptb.test.txt", "c b a\n");
  options_.config.mutable_text()->set_evaluate_on(TextConfig::TEST);
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  Batch batch;
  ASSERT_TRUE(pair->test->Read({0}, 0, &batch).ok());
  EXPECT_THAT(batch.inputs, ElementsAre(2, 1, 0));
}

TEST_F(TextTest, AnUnknownWordIsUnkWhereTheTrainingTextHasThat) {
  folder_.Write("ptb.train.txt", "a a a <unk> b b\n");
  folder_.Write("ptb.valid.txt", "b zebra a\n");
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  Batch batch;
  ASSERT_TRUE(pair->test->Read({0}, 0, &batch).ok());
  EXPECT_THAT(batch.inputs, ElementsAre(1, 2, 0));
}

TEST_F(TextTest, AnUnknownWordIsElseNamedWithItsLine) {
  folder_.Write("ptb.train.txt", "a b c\n");
  folder_.Write("ptb.valid.txt", "a\n\nb zebra a\n");
  ExpectError(absl::StatusCode::kDataLoss,
              "ptb.valid.txt: line 3: the word \"zebra\"");
}

TEST_F(TextTest, AMissingFileIsNamedWithWhereItIsToBeHad) {
  folder_.Write("ptb.train.txt", "a b c\n");
  ExpectError(absl::StatusCode::kNotFound, "ptb.valid.txt");
  ExpectError(absl::StatusCode::kNotFound, "http://");
}

TEST_F(TextTest, ATextShorterThanAWindowIsNamed) {
  folder_.Write("ptb.train.txt", "a b c\n");
  folder_.Write("ptb.valid.txt", "a b\n");
  ExpectError(absl::StatusCode::kInvalidArgument,
              "ptb.valid.txt: a text of 3 tokens");
  folder_.Write("ptb.train.txt", "");
  ExpectError(absl::StatusCode::kInvalidArgument,
              "ptb.train.txt: a text of 0 tokens");
}

TEST_F(TextTest, CharactersAreNumberedByTheirBytesAndTheLastPartValidates) {
  options_.config.set_name("characters");
  options_.config.mutable_text()->set_validation_fraction(0.4);
  folder_.Write("b.txt", "\xc3 z\n");
  folder_.Write("a.txt", "abcab ");
  folder_.Write("notes", "not a text");
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  const ExampleShape shape = pair->train->example_shape();
  EXPECT_EQ(shape.task, Task::kCharacters);
  EXPECT_EQ(shape.num_classes, 7);  // Line feed, space, a, b, c, z, 0xc3.
  Batch batch;
  EXPECT_EQ(pair->train->size(), 1);
  ASSERT_TRUE(pair->train->Read({0}, 0, &batch).ok());
  EXPECT_THAT(batch.inputs, ElementsAre(2, 3, 4));
  EXPECT_THAT(batch.labels, ElementsAre(3, 4, 2));
  EXPECT_EQ(pair->test->size(), 1);
  ASSERT_TRUE(pair->test->Read({0}, 0, &batch).ok());
  EXPECT_THAT(batch.inputs, ElementsAre(6, 1, 5));
  EXPECT_THAT(batch.labels, ElementsAre(1, 5, 0));
}

TEST_F(TextTest, AFolderWithoutTextSaysSo) {
  options_.config.set_name("characters");
  ExpectError(absl::StatusCode::kNotFound, "no .txt file");
  folder_.Write("a.txt", "");
  ExpectError(absl::StatusCode::kNotFound, "no .txt file with text");
  options_.config.set_directory(folder_.path() + "/nowhere");
  ExpectError(absl::StatusCode::kNotFound, "nowhere");
  options_.config.set_directory(folder_.path() + "/a.txt");
  ExpectError(absl::StatusCode::kNotFound, "is not a folder");
}

TEST_F(TextTest, OptionsOutOfRangeAreProblems) {
  options_.config.mutable_text()->set_steps(-1);
  ExpectError(absl::StatusCode::kInvalidArgument, "data.text.steps is -1");
  options_.config.mutable_text()->set_steps(3);
  for (const double fraction : {0.0, 1.0, -0.5}) {
    options_.config.mutable_text()->set_validation_fraction(fraction);
    ExpectError(absl::StatusCode::kInvalidArgument,
                "data.text.validation_fraction");
  }
}

TEST_F(TextTest, ThePennTreebankHasItsKnownSizes) {
  options_.config.set_directory(RealData("ptb"));
  if (options_.config.directory().empty()) {
    GTEST_SKIP() << "GRADSIEVE_SHARED has no data/ptb";
  }
  options_.config.mutable_text()->set_steps(1);
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->train->example_shape().num_classes, 10000);
  // 929,589 and 73,760 tokens, of which the last is only a label.
  EXPECT_EQ(pair->train->size(), 929588);
  EXPECT_EQ(pair->test->size(), 73759);
}

TEST_F(TextTest, ShakespeareHasItsKnownAlphabet) {
  options_.config.set_name("characters");
  options_.config.set_directory(RealData("tinyshakespeare"));
  if (options_.config.directory().empty()) {
    GTEST_SKIP() << "GRADSIEVE_SHARED has no data/tinyshakespeare";
  }
  options_.config.clear_text();
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->train->example_shape().num_classes, 65);
  EXPECT_EQ(pair->train->example_shape().steps, 64);
  EXPECT_EQ(pair->train->size(), (1115394 - 111539 - 1) / 64);
  EXPECT_EQ(pair->test->size(), (111539 - 1) / 64);
}

}  // namespace
}  // namespace ps
