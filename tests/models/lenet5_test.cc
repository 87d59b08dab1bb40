// LeNet-5: comparison with the reference model, and parameter names.

#include <algorithm>
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

ModelConfig Lenet5() {
  ModelConfig config;
  config.set_name("lenet5");
  return config;
}

TEST(Lenet5, HasPytorchsNamesAndShapes) {
  const ModelFixture fixture(Lenet5(), MnistShape());
  std::vector<std::string> lines;
  for (const ParameterInfo& p : fixture.model().parameters()) {
    lines.push_back(absl::StrCat(p.name, " ", ShapeString(p.shape)));
  }
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "conv1.weight [6, 1, 5, 5]", "conv1.bias [6]",
                       "conv2.weight [16, 6, 5, 5]", "conv2.bias [16]",
                       "fc1.weight [120, 400]", "fc1.bias [120]",
                       "fc2.weight [84, 120]", "fc2.bias [84]",
                       "fc3.weight [10, 84]", "fc3.bias [10]"}));
  EXPECT_EQ(fixture.model().num_parameters(), 61706);
}

// In colour, of another size, not square and odd, to show that nothing is
// specific to digits.
ExampleShape ColourShape() {
  ExampleShape shape;
  shape.channels = 3;
  shape.height = 17;
  shape.width = 21;
  shape.num_classes = 4;
  return shape;
}

class Lenet5Gradient : public testing::TestWithParam<ExampleShape> {};

TEST_P(Lenet5Gradient, EqualsTheReferenceModels) {
  ModelFixture fixture(Lenet5(), GetParam());
  const Batch batch = fixture.RandomBatch(2, 1);
  const std::vector<float> weights = fixture.InitialWeights(1);
  const auto result = fixture.model().ForwardBackward(
      batch, fixture.weights(), fixture.gradient(), nullptr);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_NEAR(
      result->loss,
      ReferenceLenet5Loss(std::vector<double>(weights.begin(), weights.end()),
                          GetParam(), batch),
      1e-6);

  const std::vector<float> gradient = fixture.GradientValues();
  // Tests some parameters of each tensor, since small ones would be missed
  // otherwise.
  for (const ParameterInfo& p : fixture.model().parameters()) {
    const auto begin = static_cast<size_t>(p.offset);
    const auto end = begin + NumElements(p.shape);
    FiniteDifferenceOptions options;
    options.name = p.name;
    // Small, so that no ReLU or maximum switches. The reference's loss is in
    // double, with an error of about 1e-15.
    options.step = 1e-6;
    options.tolerance = 2e-6;
    options.max_elements = 12;
    ExpectGradient(
        options,
        [&](const std::vector<double>& part) {
          std::vector<double> all(weights.begin(), weights.end());
          std::copy(part.begin(), part.end(), all.begin() + begin);
          return ReferenceLenet5Loss(all, GetParam(), batch);
        },
        std::vector<float>(weights.begin() + begin, weights.begin() + end),
        std::vector<float>(gradient.begin() + begin, gradient.begin() + end));
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Lenet5Gradient,
                         testing::Values(MnistShape(), ColourShape()));

TEST(Lenet5, TwelvePixelsAreEnoughAndElevenAreNot) {
  ExampleShape shape = MnistShape();
  shape.height = 12;
  shape.width = 12;
  ModelFixture fixture(Lenet5(), shape);
  const auto result =
      fixture.model().Evaluate(fixture.RandomBatch(1, 1), fixture.weights());
  EXPECT_TRUE(result.ok()) << result.status();

  ModelOptions options;
  options.config = Lenet5();
  options.example = shape;
  options.example.width = 11;
  const absl::Status status = NewModel(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "12 x 11")) << status;
}

}  // namespace
}  // namespace ps
