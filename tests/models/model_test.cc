// Properties that hold for every registered architecture.

#include "models/model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config.h"
#include "gtest/gtest.h"
#include "proto/config.pb.h"
#include "tests/models/model_fixture.h"

namespace ps {
namespace {

class EveryModel : public testing::TestWithParam<std::string> {};

TEST_P(EveryModel, ParametersTileTheFlatVectorAndHaveDistinctNames) {
  const ModelFixture fixture(GetParam());
  int64_t offset = 0;
  std::vector<std::string> names;
  for (const ParameterInfo& parameter : fixture.model().parameters()) {
    EXPECT_EQ(parameter.offset, offset) << parameter.name;
    offset += NumElements(parameter.shape);
    names.push_back(parameter.name);
  }
  EXPECT_EQ(offset, fixture.model().num_parameters());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST_P(EveryModel, InitialWeightsDependOnTheSeedAlone) {
  const ModelFixture first(GetParam());
  const ModelFixture second(GetParam());
  EXPECT_EQ(first.InitialWeights(7), second.InitialWeights(7));
  EXPECT_NE(first.InitialWeights(7), first.InitialWeights(8));
}

class ImageModel : public testing::TestWithParam<std::string> {};

TEST_P(ImageModel, InitialWeightsFillPytorchsRange) {
  const ModelFixture fixture(GetParam());
  const std::vector<float> weights = fixture.InitialWeights(1);
  int64_t fan_in = 0;
  for (const ParameterInfo& parameter : fixture.model().parameters()) {
    // A bias has the same range as the weight before it.
    const int64_t n = NumElements(parameter.shape);
    if (parameter.shape.size() > 1) fan_in = n / parameter.shape[0];
    const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
    double max = 0, sum_squares = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double value = weights[parameter.offset + i];
      max = std::max(max, std::abs(value));
      sum_squares += value * value;
    }
    EXPECT_LE(max, bound * (1 + 1e-6)) << parameter.name;
    // The variance of a uniform distribution is bound^2 / 3; this allows five
    // standard deviations of its estimate.
    EXPECT_NEAR(sum_squares / static_cast<double>(n) / (bound * bound), 1.0 / 3,
                1.5 / std::sqrt(static_cast<double>(n)))
        << parameter.name;
  }
}

TEST_P(EveryModel, GradientReadyTilesTheFlatVectorFromTheEnd) {
  ModelFixture fixture(GetParam());
  int64_t expected_end = fixture.model().num_parameters();
  const auto result = fixture.model().ForwardBackward(
      fixture.RandomBatch(3, 1), fixture.weights(), fixture.gradient(),
      [&](const BatchResult&, int64_t begin, int64_t end) {
        EXPECT_EQ(end, expected_end);
        EXPECT_LT(begin, end);
        expected_end = begin;
        return absl::OkStatus();
      });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(expected_end, 0);
}

TEST_P(EveryModel, GradientAndLossAreFinalWhenReadySaysSo) {
  ModelFixture fixture(GetParam());
  const Batch batch = fixture.RandomBatch(3, 1);
  std::vector<float> seen(fixture.model().num_parameters());
  std::vector<double> losses;
  const float* const gradient = fixture.gradient()->data();
  const auto result = fixture.model().ForwardBackward(
      batch, fixture.weights(), fixture.gradient(),
      [&](const BatchResult& forward, int64_t begin, int64_t end) {
        losses.push_back(forward.loss);
        std::copy(gradient + begin, gradient + end, seen.begin() + begin);
        return absl::OkStatus();
      });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(fixture.GradientValues(), seen);
  EXPECT_EQ(losses, std::vector<double>(losses.size(), result->loss));
}

// The work below the first bucket is left out, and changes nothing above.
TEST_P(EveryModel, BackwardEndsAtTheLowestBucket) {
  ModelFixture whole(GetParam());
  ModelFixture part(GetParam());
  const Batch batch = whole.RandomBatch(3, 1);
  const int64_t border = whole.model().parameters().back().offset;
  part.model().ReportGradientFrom({border});
  int64_t lowest = whole.model().num_parameters();
  ASSERT_TRUE(
      whole.model()
          .ForwardBackward(batch, whole.weights(), whole.gradient(), nullptr)
          .ok());
  ASSERT_TRUE(part.model()
                  .ForwardBackward(
                      batch, part.weights(), part.gradient(),
                      [&](const BatchResult&, int64_t begin, int64_t /*end*/) {
                        lowest = begin;
                        return absl::OkStatus();
                      })
                  .ok());
  EXPECT_LE(lowest, border);
  EXPECT_GT(lowest, 0);
  const std::vector<float> expected = whole.GradientValues();
  const std::vector<float> values = part.GradientValues();
  EXPECT_TRUE(std::equal(expected.begin() + border, expected.end(),
                         values.begin() + border));
  EXPECT_TRUE(std::all_of(values.begin(), values.begin() + lowest,
                          [](float x) { return x == 0; }));
}

TEST_P(EveryModel, ErrorOfReadyStopsBackwardAndIsReturned) {
  ModelFixture fixture(GetParam());
  int calls = 0;
  const auto result = fixture.model().ForwardBackward(
      fixture.RandomBatch(3, 1), fixture.weights(), fixture.gradient(),
      [&](const BatchResult&, int64_t, int64_t) {
        ++calls;
        return absl::AbortedError("enough");
      });
  EXPECT_EQ(result.status(), absl::AbortedError("enough"));
  EXPECT_EQ(calls, 1);
}

TEST_P(EveryModel, OverfitsOneBatch) {
  ModelFixture fixture(GetParam());
  const Batch batch = fixture.RandomBatch(8, 1);
  // Small LSTMs learn slowly.
  const bool text = TellsNextToken(fixture.example().task);
  const float learning_rate = text ? 2.0f : 0.1f;
  constexpr int kMaxIterations = 1000;
  BatchResult result;
  result.loss = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kMaxIterations && result.loss >= 0.05; ++i) {
    const auto step = fixture.model().ForwardBackward(
        batch, fixture.weights(), fixture.gradient(), nullptr);
    ASSERT_TRUE(step.ok()) << step.status();
    result = *step;
    fixture.Descend(learning_rate);
  }
  EXPECT_LT(result.loss, 0.05);
  if (fixture.example().task != Task::kSpeech) {
    EXPECT_EQ(result.correct, static_cast<int64_t>(batch.labels.size()));
  }
  EXPECT_EQ(result.examples, 8);
}

TEST_P(EveryModel, ChangingBatchSizesGivesTheBitsOfFreshModels) {
  ModelFixture fixture(GetParam());
  for (const int64_t batch_size : {4, 1, 7, 4, 1}) {
    const Batch batch = fixture.RandomBatch(batch_size, 10 + batch_size);
    ModelFixture fresh(GetParam());
    const auto result = fixture.model().ForwardBackward(
        batch, fixture.weights(), fixture.gradient(), nullptr);
    const auto expected = fresh.model().ForwardBackward(
        batch, fresh.weights(), fresh.gradient(), nullptr);
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_TRUE(expected.ok()) << expected.status();
    EXPECT_EQ(result->loss, expected->loss);
    EXPECT_EQ(fixture.GradientValues(), fresh.GradientValues());
    const auto evaluation = fixture.model().Evaluate(batch, fixture.weights());
    ASSERT_TRUE(evaluation.ok()) << evaluation.status();
    EXPECT_EQ(evaluation->loss, expected->loss);
    EXPECT_EQ(evaluation->correct, expected->correct);
    EXPECT_EQ(evaluation->examples, batch_size);
  }
}

TEST_P(EveryModel, GradientOfABatchIsTheMeanOverItsExamples) {
  ModelFixture fixture(GetParam());
  const Batch batch = fixture.RandomBatch(3, 1);
  std::vector<double> mean(fixture.model().num_parameters());
  for (int64_t i = 0; i < batch.size(); ++i) {
    ASSERT_TRUE(fixture.model()
                    .ForwardBackward(fixture.Single(batch, i),
                                     fixture.weights(), fixture.gradient(),
                                     nullptr)
                    .ok());
    const std::vector<float> gradient = fixture.GradientValues();
    for (size_t p = 0; p < mean.size(); ++p) mean[p] += gradient[p] / 3.0;
  }
  ASSERT_TRUE(fixture.model()
                  .ForwardBackward(batch, fixture.weights(), fixture.gradient(),
                                   nullptr)
                  .ok());
  const std::vector<float> gradient = fixture.GradientValues();
  for (size_t p = 0; p < mean.size(); ++p) {
    ASSERT_NEAR(gradient[p], mean[p], 1e-5) << "parameter " << p;
  }
}

TEST_P(EveryModel, PredictionsAreTheLogitsOfTheEvaluation) {
  ModelFixture fixture(GetParam());
  const Batch batch = fixture.RandomBatch(5, 3);
  const auto evaluation = fixture.model().Evaluate(batch, fixture.weights());
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  std::vector<float> outputs;
  const auto prediction =
      fixture.model().Predict(batch, fixture.weights(), &outputs);
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  EXPECT_EQ(prediction->loss, evaluation->loss);
  EXPECT_EQ(prediction->correct, evaluation->correct);
  // The outputs for speech belong to frames, and its loss is CTC's.
  if (fixture.example().task == Task::kSpeech) return;
  const int64_t classes = fixture.example().num_classes;
  ASSERT_EQ(outputs.size(), batch.labels.size() * classes);
  EXPECT_NEAR(CrossEntropy(outputs, batch.labels), prediction->loss, 1e-5);
  int64_t correct = 0;
  for (size_t i = 0; i < batch.labels.size(); ++i) {
    const float* const logits = &outputs[i * classes];
    const auto predicted = std::max_element(logits, logits + classes) - logits;
    correct += predicted == batch.labels[i] ? 1 : 0;
  }
  EXPECT_EQ(correct, prediction->correct);
}

TEST_P(EveryModel, BadBatchesAreRefusedByName) {
  ModelFixture fixture(GetParam());
  const auto expect_refused = [&](const Batch& batch, const std::string& part) {
    for (const absl::Status& status :
         {fixture.model().Evaluate(batch, fixture.weights()).status(),
          fixture.model()
              .ForwardBackward(batch, fixture.weights(), fixture.gradient(),
                               nullptr)
              .status()}) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
      EXPECT_TRUE(absl::StrContains(status.message(), part)) << status;
    }
  };
  expect_refused(Batch(), "batch of 0");
  Batch short_inputs = fixture.RandomBatch(2, 1);
  short_inputs.inputs.pop_back();
  expect_refused(short_inputs, "inputs");
  for (const int32_t bad : {-1, 10}) {
    Batch bad_label = fixture.RandomBatch(2, 1);
    bad_label.labels[1] = bad;
    expect_refused(bad_label, absl::StrCat("label ", bad));
  }
}

TEST_P(EveryModel, WrongNumberOfWeightsIsRefused) {
  ModelFixture fixture(GetParam());
  const Batch batch = fixture.RandomBatch(2, 1);
  std::vector<float> values(fixture.model().num_parameters() - 1);
  Tensor small =
      Tensor::View(values.data(), {fixture.model().num_parameters() - 1});
  EXPECT_EQ(fixture.model().Evaluate(batch, small).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(fixture.model()
                .ForwardBackward(batch, fixture.weights(), &small, nullptr)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

// Excludes the deep convolutional networks. They are tested on suitable images
// in convolutional_zoo_test, and some of these laws do not hold for them.
std::vector<std::string> SmallModels() {
  std::vector<std::string> names = ModelRegistry().Names();
  names.erase(std::remove_if(names.begin(), names.end(), IsDeepConvolutional),
              names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(WithoutOwnRange, ImageModel,
                         testing::Values("layers", "lenet5", "mlp"));

INSTANTIATE_TEST_SUITE_P(Registered, EveryModel,
                         testing::ValuesIn(SmallModels()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return info.param;
                         });

TEST(ModelRegistry, KnowsTheZoo) {
  EXPECT_EQ(absl::StrJoin(ModelRegistry().Names(), " "),
            "alexnet char_lstm cifar_cnn layers lenet5 lstm_lm mlp resnet110 "
            "resnet18 "
            "resnet20 resnet50 resnet56 speech_dnn speech_lstm vgg16 vgg19");
}

TEST(NewModel, UnknownNameIsRefusedWithTheKnownOnes) {
  ModelOptions options;
  options.config.set_name("lenet6");
  options.example = MnistShape();
  const absl::Status status = NewModel(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "lenet5, lstm_lm, mlp"))
      << status;
}

TEST(NewModel, ExamplesWithoutPixelsOrClassesAreRefused) {
  ModelOptions options;
  options.example = MnistShape();
  options.example.num_classes = 0;
  EXPECT_EQ(NewModel(options).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// The problems that all registered checks find in a config.
std::vector<std::string> Problems(const JobConfig& config) {
  return FindProblems(config).lines();
}

TEST(ModelConfigCheck, ReportsNameAndHiddenUnits) {
  JobConfig config;
  EXPECT_EQ(Problems(config), std::vector<std::string>());
  config.mutable_model()->set_name("lenet6");
  config.mutable_model()->mutable_mlp()->add_hidden_units(3);
  config.mutable_model()->mutable_mlp()->add_hidden_units(0);
  std::vector<std::string> problems = Problems(config);
  std::sort(problems.begin(), problems.end());
  EXPECT_EQ(problems, (std::vector<std::string>{
                          "model.mlp.hidden_units[1] is 0; must be at least 1",
                          "model.name is \"lenet6\"; must be one of " +
                              absl::StrJoin(ModelRegistry().Names(), ", ") +
                              "; did you mean \"lenet5\"?"}));
}

}  // namespace
}  // namespace ps
