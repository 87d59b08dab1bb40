// Recorded and replayed training steps give the same bits as steps without
// recording, whatever changes from batch to batch. Inputs go up during the step
// before, and where a backend has two sides, compression is beside the backward
// pass.

#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/batch.h"
#include "gtest/gtest.h"
#include "models/layers/layer_times.h"
#include "models/model.h"
#include "tests/models/model_fixture.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/every_backend.h"
#include "tests/tensor/require_device.h"

namespace ps {
namespace {

using Ranges = std::vector<std::pair<int64_t, int64_t>>;

ModelConfig ConfigOf(const std::string& name) {
  ModelConfig config = SmallModel(name);
  // The dropped elements differ from batch to batch.
  config.mutable_lstm_lm()->set_dropout(0.5);
  return config;
}

ExampleShape ExampleOf(const std::string& name) {
  return name == "resnet20" ? ColourShape(8, 10) : SmallExample(name);
}

// Batches of two sizes in turn: the second is planned when the first is
// recorded. Most batches continue the rows of text of the previous batch.
std::vector<Batch> Batches(const std::string& name) {
  const ModelFixture fixture(ConfigOf(name), ExampleOf(name));
  std::vector<Batch> batches;
  const int64_t sizes[] = {3, 3, 3, 5, 3, 5, 5, 3, 5, 3};
  for (int i = 0; i < 10; ++i) {
    batches.push_back(fixture.RandomBatch(sizes[i], 1 + i));
    batches.back().random_key = 77 + i;
    batches.back().continues = i % 4 != 0;
  }
  return batches;
}

// All results of training.
struct Training {
  std::vector<double> losses;
  std::vector<std::vector<float>> gradients;
  std::vector<Ranges> ready;
  std::vector<float> statistics;
  double evaluation = 0;
  bool replayed = false;  // Whether any step was replayed.
  RecordingCounts recordings;
};

std::vector<float> ToHost(Backend& backend, const Tensor& tensor) {
  std::vector<float> values(tensor.size());
  EXPECT_TRUE(backend.CopyToHost(tensor, values.data()).ok());
  return values;
}

// Adds up each bucket of a gradient on the compression side, on a thread of its
// own, as soon as the bucket is marked complete.
class SumsBesideBackward {
 public:
  SumsBesideBackward(Backend* backend, const Tensor* gradient)
      : backend_(backend), gradient_(gradient) {}
  ~SumsBesideBackward() { Join(); }

  void Ready(int64_t begin, int64_t end) {
    if (sums_.empty()) {
      EXPECT_TRUE(backend_->StartOverlap().ok());
    }
    const int64_t mark = backend_->Mark().value();
    Join();
    double* const sum = &sums_.emplace_back();
    thread_ = std::thread([this, begin, end, mark, sum] {
      EXPECT_TRUE(backend_->CompressAfter(mark).ok());
      EXPECT_TRUE(backend_->sparse()
                      .SumValues(gradient_->data() + begin, end - begin, sum)
                      .ok());
    });
  }

  // One for each call of Ready.
  const std::deque<double>& Finish() {
    Join();
    EXPECT_TRUE(backend_->EndOverlap().ok());
    return sums_;
  }

 private:
  void Join() {
    if (thread_.joinable()) thread_.join();
  }

  Backend* const backend_;        // Not owned.
  const Tensor* const gradient_;  // Not owned.
  std::deque<double> sums_;       // Addresses stay.
  std::thread thread_;
};

Training Train(Backend& backend, const std::string& name, bool records) {
  ModelOptions options;
  options.config = ConfigOf(name);
  options.example = ExampleOf(name);
  options.backend = &backend;
  options.records_steps = records;
  const std::unique_ptr<Model> model = NewModel(options).value();
  // Three buckets of equal size, as far as the parameters allow.
  const std::vector<ParameterInfo>& parameters = model->parameters();
  const std::vector<int64_t> borders = {
      parameters[2 * parameters.size() / 3].offset,
      parameters[parameters.size() / 3].offset, 0};
  model->ReportGradientFrom(borders);
  const int64_t n = model->num_parameters();
  Tensor weights = backend.Allocate({n}).value();
  Tensor gradient = backend.Allocate({n}).value();
  std::vector<float> values(n);
  model->InitializeWeights(1, values.data());
  std::vector<Batch> batches = Batches(name);
  Training training;
  for (size_t i = 0; i < batches.size(); ++i) {
    const Batch& batch = batches[i];
    EXPECT_TRUE(backend.CopyFromHost(values.data(), &weights).ok());
    Ranges ready;
    SumsBesideBackward sums(&backend, &gradient);
    size_t next_border = 0;
    const auto result = model->ForwardBackward(
        batch, weights, &gradient,
        [&](const BatchResult&, int64_t begin, int64_t end) {
          ready.emplace_back(begin, end);
          if (backend.overlaps_compression()) sums.Ready(begin, end);
          // Each bucket must be reported when it is complete, not with the next
          // one.
          while (next_border < borders.size() &&
                 borders[next_border] >= begin) {
            EXPECT_LT(borders[next_border], end);
            ++next_border;
          }
          return absl::OkStatus();
        });
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return training;
    if (i + 1 < batches.size()) {
      EXPECT_TRUE(model->Upload(&batches[i + 1]).ok());
    }
    EXPECT_EQ(next_border, borders.size());
    training.losses.push_back(result->loss);
    std::deque<double> seen;
    if (backend.overlaps_compression()) seen = sums.Finish();
    training.gradients.push_back(ToHost(backend, gradient));
    for (size_t r = 0; r < seen.size(); ++r) {
      const float* const values = training.gradients.back().data();
      EXPECT_NEAR(seen[r],
                  std::accumulate(values + ready[r].first,
                                  values + ready[r].second, 0.0),
                  1e-6)
          << "range " << r;
    }
    training.ready.push_back(std::move(ready));
    for (int64_t j = 0; j < n; ++j) {
      values[j] -= 0.05f * training.gradients.back()[j];
    }
  }
  training.evaluation = model->Evaluate(batches[0], weights)->loss;
  training.statistics = ToHost(backend, model->statistics_values());
  training.recordings = model->recordings();
  for (const LayerTimes::Entry& entry : model->layer_times().entries()) {
    training.replayed |= entry.kind == "recorded";
  }
  return training;
}

// Expects the ranges to tile the model, starting from its end.
void ExpectTiling(const Ranges& ready) {
  ASSERT_FALSE(ready.empty());
  for (size_t i = 1; i < ready.size(); ++i) {
    EXPECT_EQ(ready[i].second, ready[i - 1].first);
  }
  EXPECT_EQ(ready.back().first, 0);
}

class RecordedTraining
    : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(RecordedTraining, HasTheBitsOfTrainingAsItIs) {
  const auto& [device, name] = GetParam();
  if (NeedsDevice(device)) PS_REQUIRE_DEVICE();
  const auto backend =
      device == "cpu"
          ? absl::StatusOr<std::unique_ptr<Backend>>(CpuBackendForTest())
          : NewDeviceBackendForTest(device);
  ASSERT_TRUE(backend.ok()) << backend.status();
  const Training expected = Train(**backend, name, /*records=*/false);
  const Training actual = Train(**backend, name, /*records=*/true);
  EXPECT_FALSE(expected.replayed);
  EXPECT_TRUE(actual.replayed);
  EXPECT_GT(actual.recordings.recorded, 0);
  EXPECT_EQ(actual.recordings.failed, 0);
  EXPECT_EQ(actual.losses, expected.losses);
  ASSERT_EQ(actual.gradients.size(), expected.gradients.size());
  for (size_t i = 0; i < actual.gradients.size(); ++i) {
    EXPECT_EQ(actual.gradients[i], expected.gradients[i]) << "batch " << i;
    ExpectTiling(actual.ready[i]);
    EXPECT_LE(actual.ready[i].size(), expected.ready[i].size());
  }
  EXPECT_EQ(actual.statistics, expected.statistics);
  EXPECT_EQ(actual.evaluation, expected.evaluation);
}

INSTANTIATE_TEST_SUITE_P(
    Models, RecordedTraining,
    testing::Combine(testing::Values("cpu", "cuda", "cuda_without_cudnn",
                                     "cuda_bf16", "cuda_without_cudnn_bf16"),
                     testing::Values("mlp", "lenet5", "resnet20", "lstm_lm",
                                     "char_lstm", "speech_lstm", "speech_dnn",
                                     "last_step_classifier",
                                     "mean_classifier")),
    [](const testing::TestParamInfo<RecordedTraining::ParamType>& info) {
      return absl::StrCat(std::get<0>(info.param), "_",
                          std::get<1>(info.param));
    });

}  // namespace
}  // namespace ps
