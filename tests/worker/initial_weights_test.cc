#include "worker/initial_weights.h"

#include <string>
#include <vector>

#include "formats/safetensors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tensor/activations.h"

namespace ps {
namespace {

using ::testing::StartsWith;

TEST(InitialWeights, IgnoredTensorsStartAsWithoutAFile) {
  const std::unique_ptr<Backend> backend = CpuBackendForTest();
  JobConfig config;
  config.mutable_model()->set_name("mlp");
  config.mutable_model()->mutable_mlp()->add_hidden_units(3);
  ModelOptions options;
  options.config = config.model();
  options.example.channels = options.example.height = 1;
  options.example.width = 4;
  options.example.num_classes = 2;
  options.backend = backend.get();
  const auto model = NewModel(options);
  ASSERT_TRUE(model.ok()) << model.status();
  const auto random = MakeInitialWeights(config, model->get(), backend.get());
  ASSERT_TRUE(random.ok()) << random.status();

  const std::vector<float> ones(12, 1);
  const std::string path = testing::TempDir() + "/ones.safetensors";
  ASSERT_TRUE(WriteSafetensors(path,
                               {{"layers.0.weight", {3, 4}, ones},
                                {"layers.0.bias", {3}, {ones.data(), 3}}},
                               {})
                  .ok());
  config.mutable_model()->set_initial_weights(path);
  EXPECT_THAT(
      std::string(MakeInitialWeights(config, model->get(), backend.get())
                      .status()
                      .message()),
      StartsWith("model.initial_weights: " + path));
  config.mutable_model()->add_ignore("layers.2.*");
  const auto some = MakeInitialWeights(config, model->get(), backend.get());
  ASSERT_TRUE(some.ok()) << some.status();
  ASSERT_EQ(some->weights.size(), 15u + 8u);
  for (size_t i = 0; i < some->weights.size(); ++i) {
    EXPECT_EQ(some->weights[i], i < 15 ? 1 : random->weights[i]) << i;
  }
}

}  // namespace
}  // namespace ps
