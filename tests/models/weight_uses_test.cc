// How often weights are used, and how much ScaleCom therefore sends of whole
// models.
#include "models/described/weight_uses.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/scalecom/tensor_rates.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/model.h"
#include "tensor/backend.h"

namespace ps {
namespace {

ExampleShape Images(int64_t channels, int64_t side, int64_t num_classes) {
  ExampleShape example;
  example.channels = channels;
  example.height = example.width = side;
  example.num_classes = num_classes;
  return example;
}

class WeightUsesTest : public testing::Test {
 protected:
  std::unique_ptr<Model> Make(const std::string& name,
                              const ExampleShape& example) {
    ModelOptions options;
    options.config.set_name(name);
    options.example = example;
    options.backend = backend_.get();
    return NewModel(options).value();
  }

  const std::unique_ptr<Backend> backend_ =
      NewCpuBackend(CpuBackendOptions()).value();
};

TEST_F(WeightUsesTest, AConvolutionUsesItsWeightsAtEachPositionOfItsOutput) {
  const ExampleShape example = Images(3, 32, 10);
  const auto model = Make("resnet20", example);
  const std::vector<int64_t> uses = WeightUses(*model, example).value();
  std::map<std::string, int64_t> by_name;
  for (size_t p = 0; p < uses.size(); ++p) {
    by_name[model->parameters()[p].name] = uses[p];
  }
  EXPECT_EQ(by_name.at("conv1.weight"), 32 * 32);
  EXPECT_EQ(by_name.at("layer1.0.conv2.weight"), 32 * 32);
  EXPECT_EQ(by_name.at("layer2.0.conv1.weight"), 16 * 16);
  EXPECT_EQ(by_name.at("layer3.2.conv2.weight"), 8 * 8);
  EXPECT_EQ(by_name.at("layer3.2.bn2.weight"), 1);
  EXPECT_EQ(by_name.at("linear.weight"), 1);
}

// The whole-model rates that the rule gives; those of the paper are 112 and 96.
// Normalisation and biases are not counted.
TEST_F(WeightUsesTest, ScaleComsRatesOfWholeModels) {
  const ExampleShape example = Images(3, 224, 1000);
  const std::pair<std::string, double> kRates[] = {{"resnet18", 116},
                                                   {"resnet50", 97.2}};
  for (const auto& [name, rate] : kRates) {
    const auto model = Make(name, example);
    const std::vector<int64_t> uses = WeightUses(*model, example).value();
    CompressorOptions options;
    options.config.set_ratio(1.0 / 400);
    options.config.mutable_scalecom()->set_rates(ScaleComConfig::BY_USES);
    for (size_t p = 0; p < uses.size(); ++p) {
      const ParameterInfo& parameter = model->parameters()[p];
      if (parameter.shape.size() < 2) continue;
      TensorSpan tensor;
      tensor.begin = options.dense_size;
      tensor.shape = parameter.shape;
      tensor.uses = uses[p];
      tensor.first = p == 0;
      options.tensors.push_back(tensor);
      options.dense_size += NumElements(parameter.shape);
    }
    double sent = 0;
    for (const ChunkRun& run : TensorRates(options)) {
      sent += static_cast<double>(run.num_chunks());
    }
    EXPECT_NEAR(static_cast<double>(options.dense_size) / sent, rate,
                0.005 * rate)
        << name;
  }
}

}  // namespace
}  // namespace ps
