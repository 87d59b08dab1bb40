// Which examples an evaluation covers, and in which batches.
#include "worker/evaluator.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/random.h"
#include "data/token_windows.h"
#include "gtest/gtest.h"
#include "models/layers/layer_times.h"
#include "tests/models/model_fixture.h"
#include "tests/models/reference_models.h"

namespace ps {
namespace {

// A data set whose examples are their own numbers.
class Numbers final : public Dataset {
 public:
  Numbers(Task task, int64_t size) : task_(task), size_(size) {}

  ExampleShape example_shape() const override {
    ExampleShape shape;
    shape.task = task_;
    shape.channels = shape.height = shape.width = 1;
    shape.steps = 1;
    shape.num_classes = 1000;
    return shape;
  }
  int64_t size() const override { return size_; }
  ExampleOrder order() const override {
    return TellsNextToken(task_) ? ExampleOrder::kSequential
                                 : ExampleOrder::kShuffled;
  }
  absl::Status Read(absl::Span<const int64_t> numbers, int64_t,
                    Batch* batch) const override {
    batch->inputs.assign(numbers.begin(), numbers.end());
    batch->labels.assign(numbers.begin(), numbers.end());
    batch->steps = TellsNextToken(task_) ? 1 : 0;
    return absl::OkStatus();
  }

 private:
  const Task task_;
  const int64_t size_;
};

// Records the batches that it gets. The loss of an example is its number.
class Witness final : public Model {
 public:
  absl::StatusOr<BatchResult> Evaluate(const Batch& batch,
                                       const Tensor&) override {
    BatchResult result;
    result.examples = result.targets = batch.size();
    for (size_t row = 0; row < batch.labels.size(); ++row) {
      seen_.push_back(batch.labels[row]);
      result.loss += batch.labels[row];
      if (batch.continues && batch.labels[row] != before_[row] + 1) ++breaks_;
    }
    result.loss /= static_cast<double>(batch.size());
    before_ = batch.labels;
    return result;
  }

  absl::StatusOr<BatchResult> Predict(const Batch& batch, const Tensor& weights,
                                      std::vector<float>* outputs) override {
    *outputs = batch.inputs;
    return Evaluate(batch, weights);
  }

  std::vector<int32_t> Seen() const {
    std::vector<int32_t> seen = seen_;
    std::sort(seen.begin(), seen.end());
    return seen;
  }
  // Counts rows that were marked as continuing, but did not.
  int breaks() const { return breaks_; }

  LayersConfig Describe() const override { return LayersConfig(); }
  const std::vector<ParameterInfo>& parameters() const override {
    return none_;
  }
  int64_t num_parameters() const override { return 0; }
  void InitializeWeights(uint64_t, float*) const override {}
  const std::vector<ParameterInfo>& statistics() const override {
    return none_;
  }
  Tensor& statistics_values() override { return values_; }
  absl::StatusOr<std::string> SaveState() const override { return ""; }
  absl::Status LoadState(absl::string_view) override {
    return absl::OkStatus();
  }
  absl::StatusOr<BatchResult> ForwardBackward(const Batch&, const Tensor&,
                                              Tensor*,
                                              const GradientReady&) override {
    return absl::InternalError("an evaluation does not train");
  }
  LayerTimes& layer_times() override { return times_; }
  int64_t activation_bytes() const override { return 0; }

 private:
  std::vector<int32_t> seen_;
  std::vector<int32_t> before_;
  int breaks_ = 0;
  std::vector<ParameterInfo> none_;
  Tensor values_;
  LayerTimes times_;
};

TEST(Evaluator, EveryExampleCountsOnceWhateverTheSize) {
  for (const Task task : {Task::kWords, Task::kImages}) {
    for (const int64_t size : {1, 9, 10, 19, 100, 257, 501}) {
      const Numbers dataset(task, size);
      Witness model;
      const auto evaluation = Evaluate(dataset, Tensor(), &model);
      ASSERT_TRUE(evaluation.ok()) << evaluation.status();
      std::vector<int32_t> all;
      for (int32_t n = 0; n < size; ++n) all.push_back(n);
      EXPECT_EQ(model.Seen(), all) << size;
      EXPECT_EQ(model.breaks(), 0) << size;
      EXPECT_NEAR(evaluation->loss, (size - 1) / 2.0, 1e-9);
    }
  }
}

// The number of rows in each batch.
std::vector<size_t> Rows(int64_t size) {
  Witness model;
  std::vector<size_t> rows;
  const auto evaluation =
      Evaluate(Numbers(Task::kWords, size), Tensor(), &model,
               [&](const Batch& batch, const std::vector<float>&) {
                 rows.push_back(batch.labels.size());
                 return absl::OkStatus();
               });
  EXPECT_TRUE(evaluation.ok()) << evaluation.status();
  return rows;
}

TEST(Evaluator, AShortTextIsOneRowAndALongOneTen) {
  EXPECT_EQ(Rows(39), std::vector<size_t>(39, 1));
  std::vector<size_t> two(19, 2);
  two.insert(two.end(), 2, 1);
  EXPECT_EQ(Rows(40), two);
  std::vector<size_t> ten(50, 10);
  ten.push_back(1);
  EXPECT_EQ(Rows(501), ten);
}

// Texts of 56 and 217 words, which do not fill their last windows.
TEST(Evaluator, ATextIsScoredOnAllItsTargetsWithAllThatPrecedes) {
  ModelConfig config;
  config.set_name("lstm_lm");
  config.mutable_lstm_lm()->set_hidden(7);
  config.mutable_lstm_lm()->set_embedding_size(5);
  config.mutable_lstm_lm()->set_dropout(0);
  config.mutable_lstm_lm()->set_initial_range(0.5);
  ReferenceLanguageModel reference;
  reference.recurrent.hidden = 7;
  reference.layers = 2;
  reference.embedding_size = 5;
  const std::pair<int64_t, int64_t> sizes[] = {{56, 35}, {217, 20}};
  for (const auto& [words, steps] : sizes) {
    ModelFixture fixture(config, TextShape(steps));
    TokenText text;
    text.vocabulary_size = fixture.example().num_classes;
    text.for_evaluation = true;
    RandomStream random(RandomKey(1, static_cast<uint64_t>(words)));
    for (int64_t i = 0; i < words; ++i) {
      text.tokens.push_back(
          static_cast<int32_t>(random.Below(text.vocabulary_size)));
    }
    Batch whole;
    whole.steps = words - 1;
    whole.inputs.assign(text.tokens.begin(), text.tokens.end() - 1);
    whole.labels.assign(text.tokens.begin() + 1, text.tokens.end());
    const std::vector<float> weights = fixture.InitialWeights(1);
    std::vector<ReferenceState> states(
        2, {std::vector<double>(7), std::vector<double>(7)});
    const double expected =
        ReferenceLanguageModelLoss({weights.begin(), weights.end()}, reference,
                                   fixture.example(), whole, &states);
    const auto windows = NewTokenWindows(std::move(text), steps);
    ASSERT_TRUE(windows.ok()) << windows.status();
    const auto evaluation =
        Evaluate(**windows, fixture.weights(), &fixture.model());
    ASSERT_TRUE(evaluation.ok()) << evaluation.status();
    EXPECT_NEAR(evaluation->loss, expected, 1e-6) << words;
  }
}

TEST(Evaluator, ShowsTheOutputsOfEachBatchAndStopsAtAnError) {
  const Numbers dataset(Task::kImages, 501);
  Witness model;
  std::vector<float> seen;
  const auto evaluation =
      Evaluate(dataset, Tensor(), &model,
               [&](const Batch& batch, const std::vector<float>& outputs) {
                 EXPECT_EQ(outputs.size(), batch.labels.size());
                 seen.insert(seen.end(), outputs.begin(), outputs.end());
                 return absl::OkStatus();
               });
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  ASSERT_EQ(seen.size(), 501u);
  for (int n = 0; n < 501; ++n) EXPECT_EQ(seen[n], n);
  const auto stopped = Evaluate(dataset, Tensor(), &model,
                                [](const Batch&, const std::vector<float>&) {
                                  return absl::AbortedError("enough");
                                });
  EXPECT_EQ(stopped.status(), absl::AbortedError("enough"));
}

TEST(Evaluator, AnEmptySetIsRefused) {
  Witness model;
  EXPECT_EQ(
      Evaluate(Numbers(Task::kImages, 0), Tensor(), &model).status().code(),
      absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace ps
