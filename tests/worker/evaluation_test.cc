#include "worker/records/evaluation.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

ExampleShape Examples(Task task) {
  ExampleShape example;
  example.task = task;
  example.num_classes = 10;
  return example;
}

auto Named(const std::string& name) { return Field(&Metric::name, name); }

TEST(Evaluation, EachTaskHasItsOwnMetrics) {
  BatchResult sum;
  sum.targets = 200;
  sum.loss = 200 * std::log(8);
  sum.correct = 50;
  sum.correct_top5 = 150;
  sum.character_errors = 3;
  sum.characters = 12;
  sum.word_errors = 5;
  sum.words = 4;
  const Evaluation images = EvaluationOf(Examples(Task::kImages), sum);
  EXPECT_EQ(images.accuracy, 0.25);
  EXPECT_EQ(images.top5_accuracy, 0.75);
  EXPECT_THAT(
      Metrics(images),
      ElementsAre(Named("accuracy"), Named("top5_accuracy"), Named("loss")));
  EXPECT_EQ(DescribeMetrics(Metrics(images)),
            "accuracy 25.00 %, top-5 accuracy 75.00 %, loss 2.0794");
  // Among five classes, the right one is always one of the best five.
  ExampleShape few = Examples(Task::kImages);
  few.num_classes = 5;
  EXPECT_EQ(DescribeMetrics(Metrics(EvaluationOf(few, sum))),
            "accuracy 25.00 %, loss 2.0794");

  const Evaluation words = EvaluationOf(Examples(Task::kWords), sum);
  EXPECT_NEAR(words.perplexity, 8, 1e-12);
  EXPECT_EQ(DescribeMetrics(Metrics(words)), "perplexity 8.0000, loss 2.0794");

  const Evaluation characters = EvaluationOf(Examples(Task::kCharacters), sum);
  EXPECT_NEAR(characters.bits_per_character, 3, 1e-12);
  EXPECT_THAT(Metrics(characters),
              ElementsAre(Named("bits_per_character"), Named("loss")));

  const Evaluation speech = EvaluationOf(Examples(Task::kSpeech), sum);
  EXPECT_EQ(DescribeMetrics(Metrics(speech)),
            "character error rate 25.00 %, word error rate 125.00 %, "
            "loss 2.0794");

  sum.loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(
      DescribeMetrics(Metrics(EvaluationOf(Examples(Task::kCharacters), sum))),
      "bits per character nan, loss nan (training has diverged; lower the "
      "learning rate)");
}

}  // namespace
}  // namespace ps
