// Which examples an evaluation covers, and in which batches.
#include "worker/evaluator.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "models/layers/layer_times.h"

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
    return IsText(task_) ? ExampleOrder::kSequential : ExampleOrder::kShuffled;
  }
  absl::Status Read(absl::Span<const int64_t> numbers, int64_t,
                    Batch* batch) const override {
    batch->inputs.assign(numbers.begin(), numbers.end());
    batch->labels.assign(numbers.begin(), numbers.end());
    batch->steps = IsText(task_) ? 1 : 0;
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
