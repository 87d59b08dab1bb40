// Multi-layer perceptrons: comparison with the reference model, and parameter
// names.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "models/model.h"
#include "tests/models/model_fixture.h"
#include "tests/models/reference_models.h"
#include "tests/tensor/finite_difference.h"

namespace ps {
namespace {

ModelConfig Mlp(const std::vector<int>& hidden_units) {
  ModelConfig config;
  config.set_name("mlp");
  for (const int units : hidden_units) {
    config.mutable_mlp()->add_hidden_units(units);
  }
  return config;
}

ExampleShape SmallShape() {
  ExampleShape shape;
  shape.channels = 2;
  shape.height = 3;
  shape.width = 4;
  shape.num_classes = 5;
  return shape;
}

TEST(Mlp, HasTheNamesOfPytorchsSequential) {
  const ModelFixture fixture(Mlp({7, 6}), SmallShape());
  std::vector<std::string> lines;
  for (const ParameterInfo& p : fixture.model().parameters()) {
    lines.push_back(absl::StrCat(p.name, " ", ShapeString(p.shape)));
  }
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "layers.0.weight [7, 24]", "layers.0.bias [7]",
                       "layers.2.weight [6, 7]", "layers.2.bias [6]",
                       "layers.4.weight [5, 6]", "layers.4.bias [5]"}));
}

TEST(Mlp, LossAndGradientEqualTheReferenceModels) {
  for (const std::vector<int>& hidden_units :
       {std::vector<int>(), std::vector<int>{9}, std::vector<int>{7, 6}}) {
    ModelFixture fixture(Mlp(hidden_units), SmallShape());
    const Batch batch = fixture.RandomBatch(3, 1);
    const std::vector<float> weights = fixture.InitialWeights(1);
    const auto result = fixture.model().ForwardBackward(
        batch, fixture.weights(), fixture.gradient(), nullptr);
    ASSERT_TRUE(result.ok()) << result.status();
    const auto reference = [&](const std::vector<double>& v) {
      return ReferenceMlpLoss(v, hidden_units, SmallShape(), batch);
    };
    EXPECT_NEAR(result->loss,
                reference(std::vector<double>(weights.begin(), weights.end())),
                1e-6);
    FiniteDifferenceOptions options;
    options.name = "weights";
    options.step = 1e-6;
    options.tolerance = 2e-6;
    options.max_elements = fixture.model().num_parameters();
    ExpectGradient(options, reference, weights, fixture.GradientValues());
  }
}

TEST(Mlp, BadHiddenUnitsAreRefused) {
  ModelOptions options;
  options.example = MnistShape();
  options.config = Mlp({30, 0});
  EXPECT_EQ(NewModel(options).status().code(),
            absl::StatusCode::kInvalidArgument);
  // More parameters than 32-bit indices can address.
  options.config = Mlp({70000, 70000});
  const absl::Status status = NewModel(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "layers.2.weight")) << status;
}

}  // namespace
}  // namespace ps
