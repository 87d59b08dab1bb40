// Models train on CUDA as they do on the CPU: the layers' plans get memory that
// begins anywhere in the model's vector, work in place, and belong together.

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/batch.h"
#include "gtest/gtest.h"
#include "models/model.h"
#include "tests/models/model_fixture.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/every_backend.h"

namespace ps {
namespace {

constexpr int kIterations = 3;
constexpr float kLearningRate = 0.05f;

// What training found.
struct Training {
  std::vector<double> losses;  // Of each iteration, then of an evaluation.
  std::vector<float> gradient;
  std::vector<float> weights;
  std::vector<float> statistics;
};

std::vector<float> ToHost(Backend& backend, const Tensor& tensor) {
  std::vector<float> values(tensor.size());
  const absl::Status status = backend.CopyToHost(tensor, values.data());
  EXPECT_TRUE(status.ok()) << status;
  return values;
}

Training Train(Backend& backend, const std::string& name,
               const ExampleShape& example, const Batch& batch) {
  ModelOptions options;
  options.config = SmallModel(name);
  options.example = example;
  options.backend = &backend;
  const auto model = NewModel(options);
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return {};
  const int64_t n = (*model)->num_parameters();
  Tensor weights = backend.Allocate({n}).value();
  Tensor gradient = backend.Allocate({n}).value();
  Training training;
  training.weights.resize(n);
  (*model)->InitializeWeights(1, training.weights.data());
  for (int i = 0; i <= kIterations; ++i) {
    EXPECT_TRUE(backend.CopyFromHost(training.weights.data(), &weights).ok());
    const auto result =
        i < kIterations
            ? (*model)->ForwardBackward(batch, weights, &gradient, nullptr)
            : (*model)->Evaluate(batch, weights);
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return training;
    training.losses.push_back(result->loss);
    if (i == kIterations) break;
    training.gradient = ToHost(backend, gradient);
    for (int64_t j = 0; j < n; ++j) {
      training.weights[j] -= kLearningRate * training.gradient[j];
    }
  }
  training.statistics = ToHost(backend, (*model)->statistics_values());
  return training;
}

// |a - b| against |b|, as vectors.
double RelativeDistance(const std::vector<float>& a,
                        const std::vector<float>& b) {
  double distance = 0, length = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    distance += std::pow(double{a[i]} - double{b[i]}, 2);
    length += std::pow(double{b[i]}, 2);
  }
  return length == 0 ? std::sqrt(distance) : std::sqrt(distance / length);
}

class ModelOnCuda
    : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(ModelOnCuda, TrainsAsOnTheCpu) {
  const auto& [device, name] = GetParam();
  const auto backend = NewDeviceBackendForTest(device);
  if (absl::IsUnavailable(backend.status())) GTEST_SKIP() << "no CUDA device";
  ASSERT_TRUE(backend.ok()) << backend.status();
  const ExampleShape example =
      name == "resnet20" ? ColourShape(8, 10) : SmallExample(name);
  const Batch batch = ModelFixture(SmallModel(name), example).RandomBatch(6, 1);
  const std::unique_ptr<Backend> cpu = CpuBackendForTest();
  const Training expected = Train(*cpu, name, example, batch);
  const Training actual = Train(**backend, name, example, batch);
  ASSERT_EQ(actual.losses.size(), expected.losses.size());
  for (size_t i = 0; i < expected.losses.size(); ++i) {
    EXPECT_NEAR(actual.losses[i], expected.losses[i], 1e-4)
        << "iteration " << i;
  }
  ASSERT_EQ(actual.gradient.size(), expected.gradient.size());
  EXPECT_LT(RelativeDistance(actual.gradient, expected.gradient), 1e-3);
  EXPECT_LT(RelativeDistance(actual.weights, expected.weights), 1e-5);
  ASSERT_EQ(actual.statistics.size(), expected.statistics.size());
  EXPECT_LT(RelativeDistance(actual.statistics, expected.statistics), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(
    Models, ModelOnCuda,
    testing::Combine(testing::Values("cuda", "cuda_without_cudnn",
                                     "cuda_emulated", "cuda_emulated_backward"),
                     testing::Values("mlp", "lenet5", "resnet20", "lstm_lm",
                                     "char_lstm", "speech_lstm", "speech_dnn")),
    [](const testing::TestParamInfo<ModelOnCuda::ParamType>& info) {
      return absl::StrCat(std::get<0>(info.param), "_",
                          std::get<1>(info.param));
    });

}  // namespace
}  // namespace ps
