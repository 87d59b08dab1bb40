// Laws that hold for every data set that needs no files.
#include <numeric>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/config.h"
#include "common/config_check.h"
#include "data/dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class GeneratedSetsTest : public testing::TestWithParam<const char*> {
 protected:
  static DatasetPair Make(uint64_t seed, int64_t train_size = 40) {
    DatasetOptions options;
    DataConfig& config = options.config;
    config.set_name(GetParam());
    config.mutable_digits()->set_train_examples(train_size);
    config.mutable_digits()->set_test_examples(10);
    config.mutable_shapes()->set_train_examples(train_size);
    config.mutable_shapes()->set_test_examples(10);
    // About 5 windows of words, and 25 of characters.
    config.mutable_phrases()->set_train_sentences(train_size);
    config.mutable_phrases()->set_test_sentences(20);
    config.mutable_tones()->set_train_examples(train_size);
    config.mutable_tones()->set_test_examples(10);
    options.seed = seed;
    auto pair = NewDataset(options);
    EXPECT_TRUE(pair.ok()) << pair.status();
    return *std::move(pair);
  }

  static Batch Read(const Dataset& dataset, int64_t count) {
    std::vector<int64_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0);
    Batch batch;
    const absl::Status status = dataset.Read(numbers, 0, &batch);
    EXPECT_TRUE(status.ok()) << status;
    return batch;
  }
};

TEST_P(GeneratedSetsTest, SameSeedSameExamples) {
  const DatasetPair a = Make(1), b = Make(1);
  ASSERT_EQ(a.train->size(), b.train->size());
  EXPECT_EQ(Read(*a.train, a.train->size()).inputs,
            Read(*b.train, b.train->size()).inputs);
  // One by one, since the last window of a text may be shorter.
  ASSERT_EQ(a.test->size(), b.test->size());
  for (int64_t number = 0; number < a.test->size(); ++number) {
    Batch of_a, of_b;
    ASSERT_TRUE(a.test->Read({number}, 0, &of_a).ok());
    ASSERT_TRUE(b.test->Read({number}, 0, &of_b).ok());
    EXPECT_EQ(of_a.labels, of_b.labels);
  }
}

TEST_P(GeneratedSetsTest, AnotherSeedAndTheOtherPartDiffer) {
  const DatasetPair a = Make(1), b = Make(2);
  EXPECT_NE(Read(*a.train, 3).inputs, Read(*b.train, 3).inputs);
  EXPECT_NE(Read(*a.train, 3).inputs, Read(*a.test, 3).inputs);
}

TEST_P(GeneratedSetsTest, ASmallerSetIsTheBeginningOfALargerOne) {
  const DatasetPair a = Make(1, 40), b = Make(1, 80);
  EXPECT_GT(b.train->size(), a.train->size());
  // Does not compare inputs, since "digits" scales them by the whole training
  // set.
  EXPECT_EQ(Read(*a.train, 3).labels, Read(*b.train, 3).labels);
}

TEST_P(GeneratedSetsTest, LabelsAreClassesAndBatchesHaveTheirSize) {
  const DatasetPair pair = Make(1);
  const Batch batch = Read(*pair.train, 3);
  EXPECT_EQ(batch.size(), 3);
  const ExampleShape shape = pair.train->example_shape();
  const int32_t lowest = shape.task == Task::kSpeech ? 1 : 0;
  for (const int32_t label : batch.labels) {
    EXPECT_GE(label, lowest);
    EXPECT_LT(label, shape.num_classes);
  }
}

TEST_P(GeneratedSetsTest, ANumberOutOfRangeIsAnError) {
  const DatasetPair pair = Make(1);
  Batch batch;
  for (const int64_t number : {int64_t{-1}, pair.test->size(), INT64_MAX}) {
    EXPECT_EQ(pair.test->Read({0, number}, 0, &batch).code(),
              absl::StatusCode::kInvalidArgument)
        << number;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GeneratedSetsTest,
                         testing::Values("digits", "phrase_characters",
                                         "phrases", "shapes", "tones"),
                         [](const auto& info) {
                           return std::string(info.param);
                         });

TEST(GeneratedSetsConfigTest, EveryOptionOutOfRangeIsAProblemOfItsOwn) {
  JobConfig config;
  config.mutable_data()->mutable_shapes()->set_train_examples(0);
  config.mutable_data()->mutable_shapes()->set_test_examples(10'000'001);
  config.mutable_data()->mutable_shapes()->set_side(15);
  config.mutable_data()->mutable_shapes()->set_noise(1.5);
  config.mutable_data()->mutable_phrases()->set_train_sentences(0);
  config.mutable_data()->mutable_phrases()->set_test_sentences(-1);
  config.mutable_data()->mutable_tones()->set_train_examples(0);
  config.mutable_data()->mutable_tones()->set_test_examples(0);
  config.mutable_data()->mutable_tones()->set_noise(-1);
  const ConfigProblems problems = FindProblems(config);
  EXPECT_THAT(problems.lines(), SizeIs(9));
  for (const char* name : {"shapes", "phrases", "tones"}) {
    DatasetOptions options;
    options.config = config.data();
    options.config.set_name(name);
    const auto pair = NewDataset(options);
    EXPECT_EQ(pair.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(pair.status().message()), HasSubstr(name));
  }
}

}  // namespace
}  // namespace ps
