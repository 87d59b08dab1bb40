// Compares language models with PyTorch: with the loss and gradients in a
// fixture (tests/fixtures/make_lstm_lm_fixture.py).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/safetensors.h"
#include "gtest/gtest.h"
#include "models/model.h"
#include "tests/models/model_fixture.h"

namespace ps {
namespace {

using Tensors = std::map<std::string, SafetensorsTensor>;

Tensors Read(const std::string& path) {
  auto file = ReadSafetensors(path);
  EXPECT_TRUE(file.ok()) << file.status();
  Tensors tensors;
  if (!file.ok()) return tensors;
  for (SafetensorsTensor& tensor : file->tensors) {
    tensors[tensor.name] = std::move(tensor);
  }
  return tensors;
}

// |a - b| / |b|, with the Euclidean norm.
double RelativeDistance(const float* a, const std::vector<float>& b) {
  double distance = 0, norm = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    distance += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
    norm += double{b[i]} * b[i];
  }
  return std::sqrt(distance / norm);
}

Batch MakeBatch(const SafetensorsTensor& tokens,
                const SafetensorsTensor& labels) {
  Batch batch;
  batch.steps = tokens.shape[0];
  batch.inputs = tokens.values;
  for (const float label : labels.values) {
    batch.labels.push_back(static_cast<int32_t>(label));
  }
  return batch;
}

void ExpectPytorchsNumbers(const std::string& path, ModelConfig config) {
  Tensors tensors = Read(path);
  ASSERT_EQ(tensors.count("second"), 1) << path;
  ExampleShape example = TextShape(tensors["second"].shape[0]);
  example.num_classes = tensors["encoder.weight"].shape[0];
  ModelFixture fixture(config, example);
  for (const ParameterInfo& p : fixture.model().parameters()) {
    ASSERT_EQ(tensors.count(p.name), 1) << p.name;
    ASSERT_EQ(tensors[p.name].shape, p.shape) << p.name;
    std::copy(tensors[p.name].values.begin(), tensors[p.name].values.end(),
              fixture.weights().data() + p.offset);
  }
  const Batch first = MakeBatch(tensors["first"], tensors["labels"]);
  Batch second = MakeBatch(tensors["second"], tensors["labels"]);
  second.continues = true;
  BatchResult result;
  for (const Batch& batch : {first, second}) {
    const auto step = fixture.model().ForwardBackward(
        batch, fixture.weights(), fixture.gradient(), nullptr);
    ASSERT_TRUE(step.ok()) << step.status();
    result = *step;
  }
  constexpr double kTolerance = 1e-4;
  const double loss = tensors["loss"].values[0];
  EXPECT_NEAR(result.loss, loss, kTolerance * loss);
  double largest = 0;
  for (const ParameterInfo& p : fixture.model().parameters()) {
    const double distance =
        RelativeDistance(fixture.gradient()->data() + p.offset,
                         tensors[absl::StrCat("gradient of ", p.name)].values);
    EXPECT_LT(distance, kTolerance) << p.name;
    largest = std::max(largest, distance);
  }
  testing::Test::RecordProperty("largest_relative_distance",
                                absl::StrCat(largest));
}

TEST(LstmLm, AgreesWithPytorchFromACarriedState) {
  ModelConfig config;
  config.set_name("lstm_lm");
  config.mutable_lstm_lm()->set_hidden(24);
  config.mutable_lstm_lm()->set_dropout(0);
  ExpectPytorchsNumbers("tests/fixtures/lstm_lm.safetensors", config);
}

TEST(CharLstm, WithGruCellsAgreesWithPytorchFromACarriedState) {
  ModelConfig config;
  config.set_name("char_lstm");
  config.mutable_char_lstm()->set_cell(CharLstmConfig::GRU);
  config.mutable_char_lstm()->set_hidden(13);
  config.mutable_char_lstm()->set_embedding_size(11);
  ExpectPytorchsNumbers("tests/fixtures/char_gru.safetensors", config);
}

}  // namespace
}  // namespace ps
