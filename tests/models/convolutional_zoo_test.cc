// The deep convolutional networks: sizes, shapes, and whether they learn.

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/models/model_fixture.h"
#include "tests/tensor/activations.h"

namespace ps {
namespace {

ModelConfig Config(const std::string& name) {
  ModelConfig config;
  config.set_name(name);
  return config;
}

struct ParameterCount {
  std::string model;
  int64_t extent;
  int64_t num_classes;
  int64_t parameters;
};

class ZooSize : public testing::TestWithParam<ParameterCount> {};

// Compares with the PyTorch models whose names the tensors have.
TEST_P(ZooSize, HasAsManyParametersAsPytorchs) {
  const ParameterCount& c = GetParam();
  const std::unique_ptr<Backend> backend = CpuBackendForTest();
  ModelOptions options;
  options.config = Config(c.model);
  options.example = ColourShape(c.extent, c.num_classes);
  options.backend = backend.get();
  const auto model = NewModel(options);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ((*model)->num_parameters(), c.parameters);
}

INSTANTIATE_TEST_SUITE_P(
    Models, ZooSize,
    testing::Values(ParameterCount{"cifar_cnn", 32, 10, 145578},
                    ParameterCount{"resnet20", 32, 10, 269722},
                    ParameterCount{"resnet56", 32, 10, 853018},
                    ParameterCount{"resnet110", 32, 10, 1727962},
                    ParameterCount{"vgg16", 32, 10, 14728266},
                    ParameterCount{"alexnet", 224, 1000, 61100840},
                    ParameterCount{"resnet18", 224, 1000, 11689512},
                    ParameterCount{"resnet50", 224, 1000, 25557032},
                    ParameterCount{"vgg19", 224, 1000, 143667240}),
    [](const testing::TestParamInfo<ParameterCount>& info) {
      return info.param.model;
    });

struct Learner {
  std::string model;
  int64_t extent;
  int64_t batch;
  float learning_rate;
};

class ZooLearner : public testing::TestWithParam<Learner> {
 protected:
  // Uses narrow linear layers, which would otherwise be most of the work.
  static ModelConfig SmallConfig() {
    ModelConfig config = Config(GetParam().model);
    config.mutable_classifier()->set_hidden_features(128);
    // With more dropout, the loss of two examples would be a matter of luck.
    config.mutable_classifier()->set_dropout(0.1);
    return config;
  }
};

TEST_P(ZooLearner, OverfitsOneBatchAndReportsItsGradientFromTheEnd) {
  const Learner& c = GetParam();
  ModelFixture fixture(SmallConfig(), ColourShape(c.extent, 4));
  Batch batch = fixture.RandomBatch(c.batch, 1);
  // Without normalisation inside, learning similar images would take long.
  for (float& input : batch.inputs) input = 4 * input - 2;
  std::vector<float> velocity(fixture.model().num_parameters());
  constexpr int kMaxIterations = 200;
  double loss = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kMaxIterations && loss >= 0.1; ++i) {
    batch.random_key = i;
    int64_t expected_end = fixture.model().num_parameters();
    const auto step = fixture.model().ForwardBackward(
        batch, fixture.weights(), fixture.gradient(),
        [&](const BatchResult&, int64_t begin, int64_t end) {
          EXPECT_EQ(end, expected_end);
          expected_end = begin;
          return absl::OkStatus();
        });
    ASSERT_TRUE(step.ok()) << step.status();
    EXPECT_EQ(expected_end, 0);
    loss = step->loss;
    constexpr float kMomentum = 0.9f;
    for (size_t p = 0; p < velocity.size(); ++p) {
      velocity[p] = kMomentum * velocity[p] + fixture.gradient()->data()[p];
      fixture.weights().data()[p] -= c.learning_rate * velocity[p];
    }
  }
  EXPECT_LT(loss, 0.1);
}

INSTANTIATE_TEST_SUITE_P(Models, ZooLearner,
                         testing::Values(Learner{"cifar_cnn", 16, 8, 0.05f},
                                         Learner{"resnet20", 8, 8, 0.02f},
                                         Learner{"resnet56", 8, 8, 0.02f},
                                         Learner{"resnet110", 8, 4, 0.01f},
                                         Learner{"vgg16", 32, 2, 0.01f},
                                         Learner{"alexnet", 63, 2, 0.02f},
                                         Learner{"resnet18", 32, 2, 0.01f},
                                         Learner{"resnet50", 32, 2, 0.005f},
                                         Learner{"vgg19", 32, 2, 0.01f}),
                         [](const testing::TestParamInfo<Learner>& info) {
                           return info.param.model;
                         });

TEST(ZooStatistics, EvaluationLeavesThemAndOneExampleIsEnough) {
  ModelFixture fixture(Config("resnet20"), ColourShape(16, 4));
  const Tensor& statistics = fixture.model().statistics_values();
  const std::vector<float> before(statistics.data(),
                                  statistics.data() + statistics.size());
  const Batch batch = fixture.RandomBatch(2, 1);
  double sum = 0;
  for (int64_t i = 0; i < 2; ++i) {
    const auto one =
        fixture.model().Evaluate(fixture.Single(batch, i), fixture.weights());
    ASSERT_TRUE(one.ok()) << one.status();
    sum += one->loss;
  }
  const auto both = fixture.model().Evaluate(batch, fixture.weights());
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_NEAR(both->loss, sum / 2, 1e-4 * (1 + sum));
  EXPECT_EQ(std::vector<float>(statistics.data(),
                               statistics.data() + statistics.size()),
            before);
}

TEST(ZooDropout, TheBatchsKeyAloneDecidesWhatIsDropped) {
  ModelConfig config = Config("alexnet");
  config.mutable_classifier()->set_hidden_features(32);
  ModelFixture fixture(config, ColourShape(63, 4));
  Batch batch = fixture.RandomBatch(2, 1);
  std::vector<double> losses;
  for (const uint64_t key : {1, 2, 1}) {
    batch.random_key = key;
    const auto result = fixture.model().ForwardBackward(
        batch, fixture.weights(), fixture.gradient(), nullptr);
    ASSERT_TRUE(result.ok()) << result.status();
    losses.push_back(result->loss);
  }
  EXPECT_NE(losses[0], losses[1]);
  EXPECT_EQ(losses[0], losses[2]);
}

TEST(ZooShapes, ExamplesThatDoNotFitAreRefused) {
  const std::unique_ptr<Backend> backend = CpuBackendForTest();
  for (const char* name :
       {"cifar_cnn", "resnet20", "vgg16", "alexnet", "resnet18", "vgg19"}) {
    ModelOptions options;
    options.config = Config(name);
    options.backend = backend.get();
    options.example = ColourShape(5, 10);
    absl::Status status = NewModel(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "5 x 5")) << status;
    options.example = TextShape(7);
    status = NewModel(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "images")) << status;
  }
}

TEST(ZooShapes, NormalisingOneValueIsRefusedInTrainingOnly) {
  ModelFixture fixture(Config("resnet18"), ColourShape(32, 10));
  const Batch batch = fixture.RandomBatch(1, 1);
  EXPECT_TRUE(fixture.model().Evaluate(batch, fixture.weights()).ok());
  const absl::Status status = fixture.model()
                                  .ForwardBackward(batch, fixture.weights(),
                                                   fixture.gradient(), nullptr)
                                  .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "larger batch")) << status;
}

// Between layers with 8 or more channels no activation changes its layout.
TEST(ZooLayouts, Resnet20NeedsNoReorder) {
  const std::unique_ptr<Backend> backend = CpuBackendForTest();
  ModelOptions options;
  options.config = Config("resnet20");
  options.example = ColourShape(32, 10);
  options.backend = backend.get();
  const auto model = NewModel(options);
  ASSERT_TRUE(model.ok()) << model.status();
  const int64_t n = (*model)->num_parameters();
  const auto weights = backend->Allocate({n});
  auto gradient = backend->Allocate({n});
  ASSERT_TRUE(weights.ok() && gradient.ok());
  Batch batch;
  batch.inputs.assign(2 * 3 * 32 * 32, 1);
  batch.labels = {1, 2};
  ASSERT_TRUE(
      (*model)->ForwardBackward(batch, *weights, &*gradient, nullptr).ok());
  EXPECT_EQ(backend->nn().num_reorders(), 0);
}

}  // namespace
}  // namespace ps
