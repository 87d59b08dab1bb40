// ONNX files: what is exported comes back as the same network, and what PyTorch
// exported (tests/fixtures/make_onnx_fixture.py) gives PyTorch's loss.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/random.h"
#include "formats/safetensors.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "models/onnx/export.h"
#include "models/onnx/import.h"
#include "proto/onnx.pb.h"
#include "tests/models/model_fixture.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Random statistics, too: with those of a new model, batch normalisation does
// almost nothing.
void FillStatistics(ModelFixture* fixture) {
  Tensor& values = fixture->model().statistics_values();
  RandomStream random(RandomKey(5));
  for (int64_t i = 0; i < values.size(); ++i) {
    values.data()[i] = static_cast<float>(random.Uniform(0.5, 1.5));
  }
}

std::vector<SafetensorsTensor> Tensors(ModelFixture* fixture) {
  std::vector<SafetensorsTensor> tensors;
  const auto add = [&](const std::vector<ParameterInfo>& infos,
                       const float* values) {
    for (const ParameterInfo& info : infos) {
      const float* const begin = values + info.offset;
      tensors.push_back(
          {info.name, info.shape, "F32",
           std::vector<float>(begin, begin + NumElements(info.shape))});
    }
  };
  add(fixture->model().parameters(), fixture->weights().data());
  add(fixture->model().statistics(),
      fixture->model().statistics_values().data());
  return tensors;
}

// Gives the model the values of these tensors, which must be all that it has.
void Load(const std::vector<SafetensorsTensor>& tensors,
          ModelFixture* fixture) {
  std::map<std::string, const SafetensorsTensor*> by_name;
  for (const SafetensorsTensor& tensor : tensors) {
    EXPECT_TRUE(by_name.emplace(tensor.name, &tensor).second) << tensor.name;
  }
  const auto load = [&](const std::vector<ParameterInfo>& infos,
                        float* values) {
    for (const ParameterInfo& info : infos) {
      ASSERT_EQ(by_name.count(info.name), 1u) << info.name;
      const SafetensorsTensor& tensor = *by_name[info.name];
      EXPECT_EQ(tensor.shape, info.shape) << info.name;
      std::copy(tensor.values.begin(), tensor.values.end(),
                values + info.offset);
      by_name.erase(info.name);
    }
  };
  load(fixture->model().parameters(), fixture->weights().data());
  load(fixture->model().statistics(),
       fixture->model().statistics_values().data());
  EXPECT_EQ(by_name.size(), 0u);
}

ModelConfig ConfigOf(const LayersConfig& layers) {
  ModelConfig config;
  config.set_name("layers");
  *config.mutable_layers() = layers;
  return config;
}

std::string Exported(const LayersConfig& layers, ModelFixture* fixture) {
  const auto bytes = ExportOnnx(layers, fixture->example(), Tensors(fixture));
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.ok() ? *bytes : "";
}

struct Case {
  std::string name;
  std::string config;
  ExampleShape example;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class OnnxRoundTrip : public testing::TestWithParam<Case> {};

TEST_P(OnnxRoundTrip, GivesTheSameNetworkAndBits) {
  ModelConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(GetParam().config,
                                                            &config));
  ModelFixture before(config, GetParam().example);
  FillStatistics(&before);
  const auto network = ImportOnnx(Exported(before.model().Describe(), &before));
  ASSERT_TRUE(network.ok()) << network.status();
  ModelFixture after(ConfigOf(network->layers), GetParam().example);
  Load(network->tensors, &after);
  Batch batch = before.RandomBatch(3, 1);
  batch.random_key = 7;
  const auto expected = before.model().Evaluate(batch, before.weights());
  const auto actual = after.model().Evaluate(batch, after.weights());
  ASSERT_TRUE(expected.ok()) << expected.status();
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_EQ(actual->loss, expected->loss);
  // Dropout and the rest of what inference does not show.
  const auto training = before.model().ForwardBackward(
      batch, before.weights(), before.gradient(), nullptr);
  const auto same = after.model().ForwardBackward(batch, after.weights(),
                                                  after.gradient(), nullptr);
  ASSERT_TRUE(training.ok() && same.ok());
  EXPECT_EQ(same->loss, training->loss);
  EXPECT_TRUE(after.GradientValues() == before.GradientValues());
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, OnnxRoundTrip,
    testing::Values(
        Case{"lenet5", "name: 'lenet5'", MnistShape()},
        Case{"mlp", "name: 'mlp' mlp { hidden_units: 9 }", MnistShape()},
        Case{"cifar_cnn", "name: 'cifar_cnn'", ColourShape(16, 10)},
        Case{"resnet20", "name: 'resnet20'", ColourShape(16, 10)},
        Case{"resnet18", "name: 'resnet18'", ColourShape(32, 5)},
        Case{"lstm_lm",
             "name: 'lstm_lm' lstm_lm { hidden: 16 tied_output: true "
             "dropout: 0.25 }",
             TextShape(6)},
        Case{"char_gru",
             "name: 'char_lstm' char_lstm { cell: GRU hidden: 16 layers: 3 "
             "embedding_size: 12 dropout: 0.25 }",
             TextShape(6)},
        Case{"speech_lstm",
             "name: 'speech_lstm' speech_lstm { hidden: 16 stack: 1 }",
             SpeechShape()},
        Case{"functions",
             "name: 'layers' layers { layer { flatten {} } "
             "layer { linear { out_features: 5 } } "
             "layer { activation: 'tanh' } "
             "layer { linear { out_features: 5 } } "
             "layer { activation: 'sigmoid' } layer { dropout: 0.1 } "
             "layer { batch_norm { epsilon: 0.001 momentum: 0.25 } } "
             "layer { linear {} } }",
             MnistShape()}),
    [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

std::string FixturePath(const std::string& name) {
  return absl::StrCat("tests/fixtures/", name);
}

ExampleShape ImagesOfFixture() {
  ExampleShape shape = ColourShape(16, 5);
  shape.channels = 2;
  return shape;
}

ExampleShape TextOfFixture() {
  ExampleShape shape = TextShape(6);
  shape.num_classes = 11;
  return shape;
}

struct Fixture {
  std::string name;
  ExampleShape example;
};

void PrintTo(const Fixture& fixture, std::ostream* out) {
  *out << fixture.name;
}

class OnnxOfPytorch : public testing::TestWithParam<Fixture> {};

TEST_P(OnnxOfPytorch, GivesPytorchsLoss) {
  const auto bytes = ReadFile(FixturePath(GetParam().name + ".onnx"));
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const auto network = ImportOnnx(*bytes);
  ASSERT_TRUE(network.ok()) << network.status();
  ModelFixture fixture(ConfigOf(network->layers), GetParam().example);
  Load(network->tensors, &fixture);
  const auto file =
      ReadSafetensors(FixturePath(GetParam().name + "_batch.safetensors"));
  ASSERT_TRUE(file.ok()) << file.status();
  std::map<std::string, std::vector<float>> values;
  for (const SafetensorsTensor& tensor : file->tensors) {
    values[tensor.name] = tensor.values;
  }
  Batch batch;
  batch.steps = GetParam().example.steps;
  batch.inputs = values["inputs"];
  batch.labels.assign(values["labels"].begin(), values["labels"].end());
  const auto result = fixture.model().Evaluate(batch, fixture.weights());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_NEAR(result->loss, values["loss"][0], 1e-5);
}

INSTANTIATE_TEST_SUITE_P(
    Exported, OnnxOfPytorch,
    testing::Values(Fixture{"onnx_residual", ImagesOfFixture()},
                    Fixture{"onnx_folded", ImagesOfFixture()},
                    Fixture{"onnx_lstm", TextOfFixture()},
                    Fixture{"onnx_gru", TextOfFixture()}),
    [](const testing::TestParamInfo<Fixture>& info) {
      return info.param.name;
    });

TEST(OnnxOfPytorch, KeepsNames) {
  const auto bytes = ReadFile(FixturePath("onnx_residual.onnx"));
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const auto network = ImportOnnx(*bytes);
  ASSERT_TRUE(network.ok()) << network.status();
  std::vector<std::string> names;
  for (const SafetensorsTensor& tensor : network->tensors) {
    if (absl::EndsWith(tensor.name, "weight")) names.push_back(tensor.name);
  }
  EXPECT_THAT(names,
              ElementsAre("conv1.weight", "blocks.0.conv1.weight",
                          "blocks.0.bn1.weight", "blocks.0.conv2.weight",
                          "blocks.0.bn2.weight", "blocks.1.conv1.weight",
                          "blocks.1.bn1.weight", "blocks.1.conv2.weight",
                          "blocks.1.bn2.weight", "blocks.1.shortcut.0.weight",
                          "blocks.1.shortcut.1.weight", "blocks.2.conv1.weight",
                          "blocks.2.bn1.weight", "blocks.2.conv2.weight",
                          "blocks.2.bn2.weight", "fc1.weight", "fc2.weight"));
  const auto lstm = ReadFile(FixturePath("onnx_lstm.onnx"));
  ASSERT_TRUE(lstm.ok()) << lstm.status();
  const auto language_model = ImportOnnx(*lstm);
  ASSERT_TRUE(language_model.ok()) << language_model.status();
  names.clear();
  for (const SafetensorsTensor& tensor : language_model->tensors) {
    names.push_back(tensor.name);
  }
  EXPECT_THAT(
      names,
      ElementsAre("encoder.weight", "rnn.weight_ih_l0", "rnn.weight_hh_l0",
                  "rnn.bias_ih_l0", "rnn.bias_hh_l0", "rnn.weight_ih_l1",
                  "rnn.weight_hh_l1", "rnn.bias_ih_l1", "rnn.bias_hh_l1",
                  "decoder.weight", "decoder.bias"));
}

// A small network as a message, to damage.
onnx::ModelProto SmallOnnx() {
  ModelConfig config;
  google::protobuf::TextFormat::ParseFromString(
      "name: 'layers' layers { "
      "layer { convolution { out_channels: 2 kernel_size: 3 } } "
      "layer { residual { layer { convolution { out_channels: 2 kernel_size: 1 "
      "} } layer { batch_norm {} } } } "
      "layer { flatten {} } layer { linear {} } }",
      &config);
  ExampleShape example = ColourShape(5, 3);
  ModelFixture fixture(config, example);
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(Exported(config.layers(), &fixture)));
  return model;
}

std::string ErrorOf(const onnx::ModelProto& model) {
  const auto network = ImportOnnx(model.SerializeAsString());
  EXPECT_FALSE(network.ok());
  return std::string(network.status().message());
}

onnx::NodeProto* NodeOf(onnx::ModelProto* model, const std::string& op) {
  for (onnx::NodeProto& node : *model->mutable_graph()->mutable_node()) {
    if (node.op_type() == op) return &node;
  }
  return nullptr;
}

TEST(ImportOnnx, SaysWhatLayersCannotDo) {
  ASSERT_TRUE(ImportOnnx(SmallOnnx().SerializeAsString()).ok());
  onnx::ModelProto model = SmallOnnx();
  NodeOf(&model, "Flatten")->set_op_type("Einsum");
  EXPECT_THAT(ErrorOf(model), HasSubstr("(Einsum): a network of model.layers "
                                        "has no such operator"));
  model = SmallOnnx();
  NodeOf(&model, "Relu")->set_op_type("Tanh");
  EXPECT_THAT(ErrorOf(model), HasSubstr("must meet in an Add with a Relu"));
  model = SmallOnnx();
  NodeOf(&model, "Add")->set_input(1, "elsewhere");
  EXPECT_THAT(ErrorOf(model), HasSubstr("does not end a residual block"));
  model = SmallOnnx();
  for (auto& attribute : *NodeOf(&model, "Conv")->mutable_attribute()) {
    if (attribute.name() == "strides") attribute.set_ints(0, 2);
  }
  EXPECT_THAT(ErrorOf(model), HasSubstr("strides [2, 1]"));
  model = SmallOnnx();
  model.mutable_graph()->add_input()->set_name("mask");
  EXPECT_THAT(ErrorOf(model), HasSubstr("2 inputs"));
  model = SmallOnnx();
  model.mutable_graph()->mutable_initializer(0)->add_external_data()->set_key(
      "location");
  EXPECT_THAT(ErrorOf(model), HasSubstr("must be the name of a file"));
}

TEST(ImportOnnx, DamageIsNamed) {
  EXPECT_EQ(ImportOnnx("not a model").status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(ImportOnnx("").status().code(), absl::StatusCode::kDataLoss);
  onnx::ModelProto model = SmallOnnx();
  model.mutable_graph()->mutable_initializer(0)->mutable_raw_data()->pop_back();
  EXPECT_THAT(ErrorOf(model), HasSubstr("fit its dimensions"));
  model = SmallOnnx();
  model.mutable_graph()->mutable_initializer(0)->set_dims(0, -1);
  EXPECT_THAT(ErrorOf(model), HasSubstr("dimensions are [-1, "));
  model = SmallOnnx();
  for (int i = 0; i < 3; ++i) {
    model.mutable_graph()->mutable_initializer(0)->set_dims(i, 1 << 30);
  }
  EXPECT_THAT(ErrorOf(model), HasSubstr("at most 2^31 values"));
  model = SmallOnnx();
  *model.mutable_graph()->add_initializer() = model.graph().initializer(0);
  EXPECT_THAT(ErrorOf(model), HasSubstr("two tensors are called"));
}

// The walk ends even if the graph does not.
TEST(ImportOnnx, CyclesAndDeepNestsAreRefused) {
  onnx::ModelProto cycle = SmallOnnx();
  onnx::NodeProto* const flatten = NodeOf(&cycle, "Flatten");
  NodeOf(&cycle, "Gemm")->set_input(0, "nothing");
  NodeOf(&cycle, "Conv")->set_input(0, flatten->output(0));
  *cycle.mutable_graph()->mutable_input(0)->mutable_name() = flatten->input(0);
  EXPECT_THAT(ErrorOf(cycle), testing::Not(""));
  onnx::ModelProto deep;
  onnx::GraphProto& graph = *deep.mutable_graph();
  graph.add_input()->set_name("v0");
  graph.add_output()->set_name("end");
  for (int i = 0; i < 5000; ++i) {
    for (const char* suffix : {"", "b"}) {
      onnx::NodeProto& node = *graph.add_node();
      node.set_op_type("Tanh");
      node.add_input(absl::StrCat("v", i));
      node.add_output(absl::StrCat("v", i + 1, suffix));
    }
  }
  EXPECT_THAT(ErrorOf(deep), HasSubstr("nested more than"));
}

TEST(ExportOnnx, SaysWhatOnnxLacksAndWhatTheWeightsLack) {
  ModelConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "name: 'layers' layers { layer { name: 'frames' frame_window { window: 2 "
      "} } layer { linear {} } }",
      &config));
  ModelFixture speech(config, SpeechShape());
  const auto window =
      ExportOnnx(config.layers(), SpeechShape(), Tensors(&speech));
  EXPECT_EQ(window.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(window.status().message()),
              HasSubstr("layer \"frames\": a frame_window has no"));
  ModelFixture lenet5("lenet5");
  std::vector<SafetensorsTensor> tensors = Tensors(&lenet5);
  tensors[1].name = "other";
  EXPECT_THAT(
      std::string(ExportOnnx(lenet5.model().Describe(), MnistShape(), tensors)
                      .status()
                      .message()),
      HasSubstr("layer \"conv1\": the weights lack conv1.bias"));
  tensors = Tensors(&lenet5);
  tensors[0].shape[0] = 5;
  EXPECT_THAT(
      std::string(ExportOnnx(lenet5.model().Describe(), MnistShape(), tensors)
                      .status()
                      .message()),
      HasSubstr("conv1.weight has shape [5, 1, 5, 5]"));
}

}  // namespace
}  // namespace ps
