// Compares ResNet-20 with PyTorch: the same weights and batch must give the
// same loss, gradients, running statistics and, computed with these, the same
// probabilities. tests/fixtures/make_resnet20_fixture.py made the file.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "formats/safetensors.h"
#include "gtest/gtest.h"
#include "tests/models/model_fixture.h"

namespace ps {
namespace {

constexpr int64_t kBatch = 4;
constexpr int64_t kClasses = 10;
constexpr double kTolerance = 1e-4;  // Relative.

// The values that the script calls `fill`.
std::vector<float> ComputedValues(uint64_t number, int64_t count, double middle,
                                  double width) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t h = (i + 1) * uint64_t{2654435761} + number * 40503;
    h = (h ^ (h >> 15)) & 0xffffffff;
    h = (h * 2246822519) & 0xffffffff;
    h ^= h >> 13;
    const double u = static_cast<double>(h) / 0x1p31 - 1;
    values.push_back(static_cast<float>(middle + width * u));
  }
  return values;
}

ExampleShape CifarShape() {
  ExampleShape shape;
  shape.channels = 3;
  shape.height = 32;
  shape.width = 32;
  shape.num_classes = kClasses;
  return shape;
}

ModelConfig Resnet20() {
  ModelConfig config;
  config.set_name("resnet20");
  return config;
}

void SetWeights(ModelFixture* fixture) {
  uint64_t number = 0;
  for (const ParameterInfo& p : fixture->model().parameters()) {
    const int64_t n = NumElements(p.shape);
    double middle = 0, width = 0.25;
    if (p.shape.size() > 1) {
      width = std::sqrt(6.0 / static_cast<double>(n / p.shape[0]));
    } else if (absl::EndsWith(p.name, "weight")) {
      middle = 1;
    }
    const std::vector<float> values =
        ComputedValues(number++, n, middle, width);
    std::copy(values.begin(), values.end(),
              fixture->weights().data() + p.offset);
  }
}

// The norm of the difference, relative to that of the expected values.
double RelativeNorm(const float* actual, const std::vector<float>& expected) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference += std::pow(double{actual[i]} - expected[i], 2);
    norm += std::pow(double{expected[i]}, 2);
  }
  return std::sqrt(difference / norm);
}

TEST(PytorchResnet20, LossGradientsAndStatisticsAgree) {
  const auto file = ReadSafetensors(absl::StrCat(
      std::getenv("TEST_SRCDIR"), "/", std::getenv("TEST_WORKSPACE"),
      "/tests/fixtures/resnet20.safetensors"));
  ASSERT_TRUE(file.ok()) << file.status();
  std::map<std::string, SafetensorsTensor> expected;
  for (const SafetensorsTensor& tensor : file->tensors) {
    expected[tensor.name] = tensor;
  }
  ModelFixture fixture(Resnet20(), CifarShape());
  SetWeights(&fixture);
  Batch batch;
  batch.inputs = ComputedValues(1000, kBatch * 3 * 32 * 32, 0, 1);
  for (const float label : expected["labels"].values) {
    batch.labels.push_back(static_cast<int32_t>(label));
  }

  const auto result = fixture.model().ForwardBackward(
      batch, fixture.weights(), fixture.gradient(), nullptr);
  ASSERT_TRUE(result.ok()) << result.status();
  const double loss = expected["loss"].values[0];
  EXPECT_NEAR(result->loss, loss, kTolerance * loss);
  size_t compared = 3;  // Loss, labels and probabilities.
  for (const ParameterInfo& p : fixture.model().parameters()) {
    const SafetensorsTensor& tensor =
        expected[absl::StrCat("gradient.", p.name)];
    ASSERT_EQ(tensor.shape, p.shape) << p.name;
    EXPECT_LT(
        RelativeNorm(fixture.gradient()->data() + p.offset, tensor.values),
        kTolerance)
        << p.name;
    ++compared;
  }
  for (const ParameterInfo& p : fixture.model().statistics()) {
    const SafetensorsTensor& tensor =
        expected[absl::StrCat("statistic.", p.name)];
    ASSERT_EQ(tensor.shape, p.shape) << p.name;
    EXPECT_LT(
        RelativeNorm(fixture.model().statistics_values().data() + p.offset,
                     tensor.values),
        kTolerance)
        << p.name;
    ++compared;
  }
  EXPECT_EQ(compared, expected.size());

  // The loss of an image in evaluation, for each label in turn.
  const std::vector<float>& log_probabilities =
      expected["log_probabilities"].values;
  const int64_t pixels = CifarShape().num_elements();
  for (int64_t i = 0; i < kBatch; ++i) {
    Batch one;
    one.inputs.assign(batch.inputs.begin() + i * pixels,
                      batch.inputs.begin() + (i + 1) * pixels);
    for (int32_t c = 0; c < kClasses; ++c) {
      one.labels = {c};
      const auto evaluation = fixture.model().Evaluate(one, fixture.weights());
      ASSERT_TRUE(evaluation.ok()) << evaluation.status();
      const double log_probability = log_probabilities[i * kClasses + c];
      EXPECT_NEAR(-evaluation->loss, log_probability,
                  kTolerance * std::abs(log_probability))
          << "image " << i << ", class " << c;
    }
  }
}

}  // namespace
}  // namespace ps
