// The generated data set: deterministic, varied, learnable and not trivial.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "common/random.h"
#include "data/dataset.h"
#include "data/digit_image.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

DatasetOptions Options(int64_t train_examples, int64_t test_examples) {
  DatasetOptions options;
  options.config.set_name("digits");
  options.config.mutable_digits()->set_train_examples(train_examples);
  options.config.mutable_digits()->set_test_examples(test_examples);
  options.seed = 1;
  return options;
}

Batch ReadAll(const Dataset& dataset) {
  std::vector<int64_t> numbers(dataset.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  Batch batch;
  EXPECT_TRUE(dataset.Read(numbers, 0, &batch).ok());
  return batch;
}

// FNV-1a.
uint64_t Hash(const DigitImage& image) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const uint8_t pixel : image) hash = (hash ^ pixel) * 0x100000001b3u;
  return hash;
}

TEST(DigitsTest, SameSeedSameExamples) {
  const auto a = NewDataset(Options(50, 20));
  const auto b = NewDataset(Options(50, 20));
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(ReadAll(*a->train).inputs, ReadAll(*b->train).inputs);
  EXPECT_EQ(ReadAll(*a->test).inputs, ReadAll(*b->test).inputs);
  EXPECT_EQ(ReadAll(*a->train).labels, ReadAll(*b->train).labels);
}

TEST(DigitsTest, AnotherSeedGivesOtherExamples) {
  DatasetOptions options = Options(50, 20);
  const auto a = NewDataset(options);
  options.seed = 2;
  const auto b = NewDataset(options);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NE(ReadAll(*a->train).labels, ReadAll(*b->train).labels);
}

TEST(DigitsTest, ASmallerSetIsTheBeginningOfALargerOne) {
  const auto small = NewDataset(Options(20, 1));
  const auto large = NewDataset(Options(60, 1));
  ASSERT_TRUE(small.ok() && large.ok());
  std::vector<int32_t> labels = ReadAll(*large->train).labels;
  labels.resize(20);
  EXPECT_EQ(ReadAll(*small->train).labels, labels);
}

// Hashes recorded once. If the drawing changes on purpose, update them and say
// so in the commit: results on this data set are then no longer comparable.
TEST(DigitsTest, EveryMachineAndEveryBuildDrawsTheSameImages) {
  DigitImageOptions options;
  options.noise = 0.15;
  options.distortion = 1;
  uint64_t hash = 0;
  for (int digit = 0; digit < 10; ++digit) {
    hash = hash * 31 + Hash(DrawDigit(digit, options, RandomStream(digit)));
  }
  EXPECT_EQ(hash, 3757636255850768345u);
}

TEST(DigitsTest, NoTwoImagesAreTheSame) {
  const auto pair = NewDataset(Options(3000, 1000));
  ASSERT_TRUE(pair.ok());
  std::set<std::vector<float>> images;
  for (const Dataset* dataset : {pair->train.get(), pair->test.get()}) {
    const Batch batch = ReadAll(*dataset);
    for (auto it = batch.inputs.begin(); it != batch.inputs.end(); it += 784) {
      EXPECT_TRUE(images.emplace(it, it + 784).second);
    }
  }
}

TEST(DigitsTest, EveryDigitIsAboutATenthOfTheSet) {
  const auto pair = NewDataset(Options(5000, 1));
  ASSERT_TRUE(pair.ok());
  std::array<int, 10> count = {};
  for (const int32_t label : ReadAll(*pair->train).labels) ++count.at(label);
  // The deviation of each count is sqrt(5000 x 0.1 x 0.9) = 21; allows five.
  for (const int digits : count) EXPECT_NEAR(digits, 500, 106);
}

TEST(DigitsTest, TrainingPixelsHaveMeanZeroAndVarianceOne) {
  const auto pair = NewDataset(Options(500, 1));
  ASSERT_TRUE(pair.ok());
  double sum = 0, sum_of_squares = 0;
  const Batch batch = ReadAll(*pair->train);
  for (const double x : batch.inputs) sum += x, sum_of_squares += x * x;
  EXPECT_NEAR(sum / batch.inputs.size(), 0, 1e-5);
  EXPECT_NEAR(sum_of_squares / batch.inputs.size(), 1, 1e-5);
}

TEST(DigitsTest, StrongestDistortionStillLeavesInkInTheImage) {
  DigitImageOptions options;
  options.noise = 0;
  options.distortion = 2;
  for (int i = 0; i < 2000; ++i) {
    const DigitImage image = DrawDigit(i % 10, options, RandomStream(i));
    // Without noise, the only contrast is between ink and paper.
    const auto range = std::minmax_element(image.begin(), image.end());
    ASSERT_GT(*range.second - *range.first, 90) << "image " << i;
  }
}

// Softmax regression by stochastic gradient descent, one example at a time.
class LinearClassifier {
 public:
  void Train(const Batch& batch, double learning_rate) {
    for (int64_t i = 0; i < batch.size(); ++i) {
      const float* x = &batch.inputs[i * kInputs];
      std::array<double, 10> p = Scores(x);
      const double highest = *std::max_element(p.begin(), p.end());
      double sum = 0;
      for (double& value : p) sum += value = std::exp(value - highest);
      for (int k = 0; k < 10; ++k) {
        const double error = p[k] / sum - (batch.labels[i] == k ? 1 : 0);
        const float step = static_cast<float>(learning_rate * error);
        for (int j = 0; j < kInputs; ++j) weights_[k][j] -= step * x[j];
        weights_[k][kInputs] -= step;
      }
    }
  }

  double Accuracy(const Batch& batch) const {
    int64_t right = 0;
    for (int64_t i = 0; i < batch.size(); ++i) {
      const auto scores = Scores(&batch.inputs[i * kInputs]);
      right +=
          std::max_element(scores.begin(), scores.end()) - scores.begin() ==
          batch.labels[i];
    }
    return static_cast<double>(right) / static_cast<double>(batch.size());
  }

 private:
  static constexpr int kInputs = kDigitImageSide * kDigitImageSide;

  std::array<double, 10> Scores(const float* x) const {
    std::array<double, 10> scores;
    for (int k = 0; k < 10; ++k) {
      float sum = weights_[k][kInputs];
      for (int j = 0; j < kInputs; ++j) sum += weights_[k][j] * x[j];
      scores[k] = sum;
    }
    return scores;
  }

  float weights_[10][kInputs + 1] = {};  // The last column is the bias.
};

TEST(DigitsTest, ALinearClassifierLearnsItButNotWell) {
  const auto pair = NewDataset(Options(6000, 2000));
  ASSERT_TRUE(pair.ok());
  const Batch train = ReadAll(*pair->train);
  LinearClassifier classifier;
  double learning_rate = 0.002;
  for (int epoch = 0; epoch < 6; ++epoch, learning_rate /= 2) {
    classifier.Train(train, learning_rate);
  }
  const double accuracy = classifier.Accuracy(ReadAll(*pair->test));
  RecordProperty("accuracy", std::to_string(accuracy));
  EXPECT_GT(accuracy, 0.40);
  EXPECT_LT(accuracy, 0.93);
}

}  // namespace
}  // namespace ps
