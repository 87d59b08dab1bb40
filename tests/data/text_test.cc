// The data sets "ptb" and "characters", over files that the test writes and
// over real ones.
#include <unistd.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/data_description.h"
#include "data/dataset.h"
#include "data/sampler.h"
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

// 7 targets: two windows of 3, and one of 1.
TEST_F(TextTest, EveryTokenOfATextForEvaluationIsATarget) {
  folder_.Write("ptb.train.txt", "a b c d e f g\n");
  folder_.Write("ptb.valid.txt", "a b c d e f g\n");
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->train->size(), 2);
  ASSERT_EQ(pair->test->size(), 3);
  std::vector<int32_t> labels;
  Batch batch;
  for (int64_t window = 0; window < 3; ++window) {
    ASSERT_TRUE(pair->test->Read({window}, 0, &batch).ok());
    labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
  }
  EXPECT_EQ(batch.steps, 1);
  EXPECT_THAT(labels, ElementsAre(1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(std::string(pair->test->Read({1, 2}, 0, &batch).message()),
              HasSubstr("window 2 has 1 of 3 tokens; it must be read alone"));
}

TEST_F(TextTest, TwoEpochsTrainOnEveryToken) {
  std::string text;
  for (int i = 0; i < 999; ++i) absl::StrAppend(&text, "w", i, " ");
  folder_.Write("ptb.train.txt", text);  // And <eos>: 1,000 tokens.
  folder_.Write("ptb.valid.txt", "w0\n");
  options_.config.mutable_text()->set_steps(20);
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  SamplerOptions options;
  options.order = ExampleOrder::kSequential;
  options.num_examples = pair->train->size();
  options.batch_size = 10;
  options.num_workers = 2;
  auto sampler = Sampler::Create(options);
  ASSERT_TRUE(sampler.ok()) << sampler.status();
  // 49 windows in 20 streams.
  ASSERT_EQ(sampler->iterations_per_epoch(), 2);
  std::vector<int> inputs(1000), labels(1000);
  Batch batch;
  for (int64_t iteration = 0; iteration < 4; ++iteration) {
    for (const int rank : {0, 1}) {
      const auto numbers = sampler->Numbers(iteration, rank);
      ASSERT_TRUE(pair->train->Read(numbers, iteration / 2, &batch).ok());
      for (size_t i = 0; i < batch.labels.size(); ++i) {
        ++inputs[static_cast<int>(batch.inputs[i])];
        ++labels[batch.labels[i]];
      }
    }
  }
  // All words occur once, so their numbers are their places. Each epoch reads
  // 800 of 999 targets: the first 199 and the last 199 are read once, the
  // others twice.
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(inputs[i], i == 999 ? 0 : i < 199 || i >= 800 ? 1 : 2) << i;
    EXPECT_EQ(labels[i], i == 0 ? 0 : i <= 199 || i > 800 ? 1 : 2) << i;
  }
}

TEST_F(TextTest, ByteOrderMarksAreNoText) {
  folder_.Write("ptb.train.txt",
                "\xef\xbb\xbf"
                "the cat the\n");
  folder_.Write("ptb.valid.txt",
                "\xef\xbb\xbf"
                "the cat\n");
  EXPECT_EQ(NewDataset(options_)->train->example_shape().num_classes, 3);
  options_.config.set_name("characters");
  folder_.Write("ptb.train.txt",
                "\xef\xbb\xbf"
                "abcabcabc");
  folder_.Write("ptb.valid.txt",
                "\xef\xbb\xbf"
                "abcabcabc");
  EXPECT_EQ(NewDataset(options_)->train->example_shape().num_classes, 3);
}

// Both words occur twice; who comes first decides their numbers.
TEST_F(TextTest, WordsWithOtherNumbersAreOtherData) {
  folder_.Write("ptb.train.txt", "a b b a\n");
  folder_.Write("ptb.valid.txt", "a b\n");
  const auto before = NewDataset(options_);
  folder_.Write("ptb.train.txt", "b a a b\n");
  const auto after = NewDataset(options_);
  ASSERT_TRUE(before.ok() && after.ok());
  const std::string difference = DescribeDataDifference(
      before->description.text(), after->description.text());
  EXPECT_THAT(difference, HasSubstr("word 0: \"b\" there and \"a\" here"));
  // The same words in the same order of frequency, but another text.
  folder_.Write("ptb.train.txt", "b a b a\n");
  EXPECT_THAT(DescribeDataDifference(after->description.text(),
                                     NewDataset(options_)->description.text()),
              HasSubstr("training text: digest"));
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
  ExpectError(absl::StatusCode::kDataLoss, "write <unk> for rare words");
}

TEST_F(TextTest, AMissingFileIsNamedWithWhereItIsToBeHad) {
  folder_.Write("ptb.train.txt", "a b c\n");
  ExpectError(absl::StatusCode::kNotFound, "ptb.valid.txt");
  ExpectError(absl::StatusCode::kNotFound, "http://");
}

TEST_F(TextTest, ATextShorterThanAWindowIsNamed) {
  folder_.Write("ptb.train.txt", "a b c\n");
  folder_.Write("ptb.valid.txt", "\n");
  ExpectError(absl::StatusCode::kInvalidArgument,
              "ptb.valid.txt: a text of 1 tokens has none that follows");
  folder_.Write("ptb.train.txt", "");
  ExpectError(absl::StatusCode::kInvalidArgument,
              "ptb.train.txt: a text of 0 tokens");
}

TEST_F(TextTest, CharactersAreNumberedByTheirBytesAndTheLastPartValidates) {
  options_.config.set_name("characters");
  options_.config.set_validation_fraction(0.4);
  folder_.Write("b.txt", "\xc3 z\n");
  folder_.Write("a.txt", "abcab ");
  folder_.MakeFolder("more");
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_THAT(pair->notes, ElementsAre(HasSubstr("1 folder is not read: " +
                                                 folder_.path() + "/more/;")));
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
  for (const double fraction : {1.0, -0.5, std::nan("")}) {
    options_.config.set_validation_fraction(fraction);
    ExpectError(absl::StatusCode::kInvalidArgument, "data.validation_fraction");
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
  EXPECT_EQ(pair->test->size(), (111539 - 1 + 63) / 64);
}

}  // namespace
}  // namespace ps
