// Networks that a config lists layer by layer: they train like those of the
// zoo, bit for bit, and every mistake is named.

#include "models/described/described_layers.h"

#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/config.h"
#include "common/config_check.h"
#include "common/field_rules.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "models/model.h"
#include "proto/config.pb.h"
#include "proto/layers_config.pb.h"
#include "tests/models/model_fixture.h"
#include "tests/tensor/activations.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ModelConfig Parse(const std::string& text) {
  ModelConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config))
      << text;
  return config;
}

std::string ActivationRule() {
  return RuleOf(*LayerConfig::descriptor()->FindFieldByName("activation"));
}

ModelConfig Layers(const std::string& layers) {
  return Parse(absl::StrCat("name: 'layers' layers { ", layers, " }"));
}

struct Twins {
  std::string name;
  std::string zoo;
  std::string layers;
  ExampleShape example;
};

void PrintTo(const Twins& twins, std::ostream* out) { *out << twins.name; }

std::vector<std::string> Names(const std::vector<ParameterInfo>& tensors) {
  std::vector<std::string> names;
  for (const ParameterInfo& tensor : tensors) {
    names.push_back(absl::StrCat(tensor.name, " ", ShapeString(tensor.shape)));
  }
  return names;
}

std::vector<float> Values(const Tensor& tensor) {
  return std::vector<float>(tensor.data(), tensor.data() + tensor.size());
}

class DescribedTwin : public testing::TestWithParam<Twins> {};

TEST_P(DescribedTwin, TrainsLikeTheZoosModelBitForBit) {
  ModelFixture zoo(Parse(GetParam().zoo), GetParam().example);
  ModelFixture own(Layers(GetParam().layers), GetParam().example);
  EXPECT_EQ(Names(own.model().parameters()), Names(zoo.model().parameters()));
  EXPECT_EQ(Names(own.model().statistics()), Names(zoo.model().statistics()));
  ASSERT_EQ(Values(own.weights()), Values(zoo.weights()));
  for (int i = 0; i < 3; ++i) {
    Batch batch = zoo.RandomBatch(4, 10 + i);
    batch.random_key = 100 + i;
    batch.continues = i > 0;
    std::vector<double> losses;
    for (ModelFixture* fixture : {&zoo, &own}) {
      const auto result = fixture->model().ForwardBackward(
          batch, fixture->weights(), fixture->gradient(), nullptr);
      ASSERT_TRUE(result.ok()) << result.status();
      losses.push_back(result->loss);
      fixture->Descend(0.05f);
    }
    EXPECT_EQ(losses[0], losses[1]) << i;
    ASSERT_EQ(own.GradientValues(), zoo.GradientValues()) << i;
    ASSERT_EQ(Values(own.weights()), Values(zoo.weights())) << i;
  }
  EXPECT_EQ(Values(own.model().statistics_values()),
            Values(zoo.model().statistics_values()));
  const Batch batch = zoo.RandomBatch(3, 1);
  EXPECT_EQ(own.model().Evaluate(batch, own.weights())->loss,
            zoo.model().Evaluate(batch, zoo.weights())->loss);
}

constexpr char kLenet5[] = R"(
    layer { name: "conv1"
            convolution { out_channels: 6 kernel_size: 5 padding: 2 } }
    layer { max_pooling { kernel_size: 2 } }
    layer { activation: "relu" }
    layer { name: "conv2" convolution { out_channels: 16 kernel_size: 5 } }
    layer { max_pooling { kernel_size: 2 } }
    layer { activation: "relu" }
    layer { flatten {} }
    layer { name: "fc1" linear { out_features: 120 } }
    layer { activation: "relu" }
    layer { name: "fc2" linear { out_features: 84 } }
    layer { activation: "relu" }
    layer { name: "fc3" linear {} })";

constexpr char kMlp[] = R"(
    layer { flatten {} }
    layer { name: "layers.0" linear { out_features: 30 } }
    layer { activation: "relu" }
    layer { name: "layers.2" linear { out_features: 20 } }
    layer { activation: "relu" }
    layer { name: "layers.4" linear {} })";

std::string Convolution3(const std::string& name, int channels, int stride) {
  return absl::StrCat("layer { name: '", name,
                      "' convolution { out_channels: ", channels,
                      " kernel_size: 3 padding: 1 bias: false stride: ", stride,
                      " initial_weight { he_normal: FAN_IN } } }");
}

std::string Resnet20() {
  std::string text = absl::StrCat(Convolution3("conv1", 16, 1),
                                  "layer { name: 'bn1' batch_norm {} }",
                                  "layer { activation: 'relu' }");
  for (int stage = 0; stage < 3; ++stage) {
    const int channels = 16 << stage;
    for (int block = 0; block < 3; ++block) {
      const bool halves = stage > 0 && block == 0;
      absl::StrAppend(
          &text, "layer { name: 'layer", stage + 1, ".", block, "' residual {",
          Convolution3("conv1", channels, halves ? 2 : 1),
          "layer { name: 'bn1' batch_norm {} }", "layer { activation: 'relu' }",
          Convolution3("conv2", channels, 1),
          "layer { name: 'bn2' batch_norm {} }");
      if (halves) {
        absl::StrAppend(
            &text, "shortcut { subsampling { out_channels: ", channels, " } }");
      }
      text += "} }";
    }
  }
  return text + R"(layer { global_pooling {} }
                   layer { name: "linear"
                           linear { initial_weight { he_normal: FAN_IN } } })";
}

std::string BasicBlock(const std::string& name, int channels, int stride) {
  const auto convolution = [&](const char* field, const char* conv, int size,
                               int step) {
    return absl::StrCat(
        field, " { name: '", conv, "' convolution { out_channels: ", channels,
        " kernel_size: ", size, " padding: ", size / 2, " stride: ", step,
        " bias: false initial_weight { he_normal: FAN_OUT } } }");
  };
  return absl::StrCat(
      "layer { name: '", name, "' residual {",
      convolution("layer", "conv1", 3, stride),
      "layer { name: 'bn1' batch_norm {} } layer { activation: 'relu' }",
      convolution("layer", "conv2", 3, 1),
      "layer { name: 'bn2' batch_norm {} }",
      stride == 1
          ? ""
          : absl::StrCat(convolution("shortcut", "downsample.0", 1, stride),
                         "shortcut { name: 'downsample.1' batch_norm {} }"),
      "} }");
}

std::string Resnet18() {
  std::string text = R"(
      layer { name: "conv1" convolution {
        out_channels: 64 kernel_size: 7 stride: 2 padding: 3 bias: false
        initial_weight { he_normal: FAN_OUT } } }
      layer { name: "bn1" batch_norm {} }
      layer { activation: "relu" }
      layer { max_pooling { kernel_size: 3 stride: 2 padding: 1 } })";
  for (int stage = 0; stage < 4; ++stage) {
    for (int block = 0; block < 2; ++block) {
      text += BasicBlock(absl::StrCat("layer", stage + 1, ".", block),
                         64 << stage, stage > 0 && block == 0 ? 2 : 1);
    }
  }
  return text + "layer { global_pooling {} } layer { name: 'fc' linear {} }";
}

constexpr char kCifarCnn[] = R"(
    layer { name: "conv1"
            convolution { out_channels: 32 kernel_size: 5 padding: 2 } }
    layer { max_pooling { kernel_size: 3 stride: 2 padding: 1 } }
    layer { activation: "relu" }
    layer { name: "conv2"
            convolution { out_channels: 32 kernel_size: 5 padding: 2 } }
    layer { activation: "relu" }
    layer { average_pooling { kernel_size: 3 stride: 2 padding: 1 } }
    layer { name: "conv3"
            convolution { out_channels: 64 kernel_size: 5 padding: 2 } }
    layer { activation: "relu" }
    layer { average_pooling { kernel_size: 3 stride: 2 padding: 1 } }
    layer { flatten {} }
    layer { name: "ip1" linear { out_features: 64 } }
    layer { name: "ip2" linear {} })";

constexpr char kCharGru[] = R"(
    layer { name: "encoder" embedding { features: 12 } }
    layer { dropout: 0.25 }
    layer { name: "rnn" gru { hidden: 16 layers: 2 dropout: 0.25 } }
    layer { dropout: 0.25 }
    layer { name: "decoder" linear {} })";

constexpr char kTiedLstm[] = R"(
    layer { name: "encoder"
            embedding { features: 16 initial_weight { uniform: 0.05 } } }
    layer { dropout: 0.5 }
    layer { name: "rnn" lstm { hidden: 16 layers: 2 dropout: 0.5
                               initial_weight { uniform: 0.05 } } }
    layer { dropout: 0.5 }
    layer { name: "decoder" linear { tied_to_embedding: true
                                     initial_bias { uniform: 0.05 } } })";

constexpr char kSpeechLstm[] = R"(
    layer { frame_window { window: 3 } }
    layer { name: "rnn" lstm { hidden: 16 layers: 2 } }
    layer { name: "output" linear {} })";

constexpr char kSpeechDnn[] = R"(
    layer { frame_window { window: 11 before: 5 stride: 3 } }
    layer { name: "hidden.0" linear {
      out_features: 16 initial_weight { he_normal: FAN_IN }
      initial_bias { constant: 0 } } }
    layer { activation: "relu" }
    layer { dropout: 0.1 }
    layer { name: "hidden.1" linear {
      out_features: 16 initial_weight { he_normal: FAN_IN }
      initial_bias { constant: 0 } } }
    layer { activation: "relu" }
    layer { dropout: 0.1 }
    layer { name: "output" linear {} })";

INSTANTIATE_TEST_SUITE_P(
    Zoo, DescribedTwin,
    testing::Values(
        Twins{"lenet5", "name: 'lenet5'", kLenet5, MnistShape()},
        Twins{"mlp", "name: 'mlp' mlp { hidden_units: 30 hidden_units: 20 }",
              kMlp, MnistShape()},
        Twins{"cifar_cnn", "name: 'cifar_cnn'", kCifarCnn, ColourShape(16, 10)},
        Twins{"resnet20", "name: 'resnet20'", Resnet20(), ColourShape(16, 10)},
        Twins{"resnet18", "name: 'resnet18'", Resnet18(), ColourShape(32, 5)},
        Twins{"char_gru",
              "name: 'char_lstm' char_lstm { cell: GRU hidden: 16 "
              "embedding_size: 12 dropout: 0.25 }",
              kCharGru, TextShape(6)},
        Twins{"lstm_lm",
              "name: 'lstm_lm' lstm_lm { hidden: 16 tied_output: true }",
              kTiedLstm, TextShape(6)},
        Twins{"speech_lstm",
              "name: 'speech_lstm' speech_lstm { hidden: 16 layers: 2 }",
              kSpeechLstm, SpeechShape()},
        Twins{"speech_dnn",
              "name: 'speech_dnn' speech_dnn { hidden: 16 layers: 2 "
              "dropout: 0.1 }",
              kSpeechDnn, SpeechShape()}),
    [](const testing::TestParamInfo<Twins>& info) { return info.param.name; });

class DescribedZoo : public testing::TestWithParam<std::string> {};

// What a model says of its layers is a network of the same bits.
TEST_P(DescribedZoo, IsTheSameNetworkLayerByLayer) {
  ModelConfig config = SmallModel(GetParam());
  config.mutable_classifier()->set_hidden_features(16);
  config.mutable_lstm_lm()->set_dropout(0.5);
  config.mutable_speech_lstm()->set_dropout(0.25);
  const int64_t extent = GetParam() == "alexnet" ? 64 : 32;
  const ExampleShape example = IsDeepConvolutional(GetParam())
                                   ? ColourShape(extent, 10)
                                   : SmallExample(GetParam());
  ModelFixture zoo(config, example);
  ModelConfig described;
  described.set_name("layers");
  *described.mutable_layers() = zoo.model().Describe();
  ModelFixture own(described, example);
  EXPECT_EQ(Names(own.model().parameters()), Names(zoo.model().parameters()));
  EXPECT_EQ(Names(own.model().statistics()), Names(zoo.model().statistics()));
  EXPECT_TRUE(Values(own.weights()) == Values(zoo.weights()));
  EXPECT_EQ(own.model().Describe().DebugString(),
            described.layers().DebugString());
  Batch batch = zoo.RandomBatch(2, 1);
  batch.random_key = 3;
  const auto result = zoo.model().ForwardBackward(batch, zoo.weights(),
                                                  zoo.gradient(), nullptr);
  const auto same = own.model().ForwardBackward(batch, own.weights(),
                                                own.gradient(), nullptr);
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(same->loss, result->loss);
  EXPECT_TRUE(own.GradientValues() == zoo.GradientValues());
}

INSTANTIATE_TEST_SUITE_P(Registered, DescribedZoo,
                         testing::ValuesIn(ModelRegistry().Names()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return info.param;
                         });

TEST(DescribedLayers, NamesAreThoseOfPytorchsSequential) {
  const ModelFixture fixture(Layers(R"(
      layer { convolution { out_channels: 4 kernel_size: [3, 1] groups: 2
                            stride: 2 } }
      layer { batch_norm {} }
      layer { activation: "tanh" }
      layer { residual {
        layer { convolution { out_channels: 4 kernel_size: 1 bias: false } }
        layer { name: "norm" batch_norm {} }
        shortcut { convolution { out_channels: 4 kernel_size: 1 } }
      } }
      layer { adaptive_pooling { output_size: 2 } }
      layer { flatten {} }
      layer { batch_norm {} }
      layer { linear {} })"),
                             [] {
                               ExampleShape shape = ColourShape(9, 10);
                               shape.channels = 2;
                               return shape;
                             }());
  EXPECT_THAT(Names(fixture.model().parameters()),
              ElementsAre("0.weight [4, 1, 3, 1]", "0.bias [4]", "1.weight [4]",
                          "1.bias [4]", "3.layer.0.weight [4, 4, 1, 1]",
                          "3.norm.weight [4]", "3.norm.bias [4]",
                          "3.shortcut.0.weight [4, 4, 1, 1]",
                          "3.shortcut.0.bias [4]", "6.weight [16]",
                          "6.bias [16]", "7.weight [10, 16]", "7.bias [10]"));
}

// A residual block of vectors, and one inside another.
TEST(DescribedLayers, BlocksNestAndTakeVectors) {
  ModelFixture fixture(Layers(R"(
      layer { flatten {} }
      layer { linear { out_features: 12 } }
      layer { residual {
        layer { residual {
          layer { linear { out_features: 12 } } layer { batch_norm {} }
        } }
        layer { linear { out_features: 12 } }
        layer { batch_norm { epsilon: 0.001 momentum: 0.5 } }
      } }
      layer { linear {} })"),
                       MnistShape());
  const Batch batch = fixture.RandomBatch(8, 1);
  double loss = 0;
  for (int i = 0; i < 300; ++i) {
    const auto result = fixture.model().ForwardBackward(
        batch, fixture.weights(), fixture.gradient(), nullptr);
    ASSERT_TRUE(result.ok()) << result.status();
    loss = result->loss;
    fixture.Descend(0.1f);
  }
  EXPECT_LT(loss, 0.05);
}

// The running mean replaces half of itself with each batch's.
TEST(DescribedLayers, BatchNormTakesEpsilonAndMomentum) {
  const auto statistics = [](const std::string& options) {
    ModelFixture fixture(
        Layers(absl::StrCat("layer { flatten {} } layer { batch_norm { ",
                            options, " } } layer { linear {} }")),
        MnistShape());
    const auto result = fixture.model().ForwardBackward(
        fixture.RandomBatch(8, 1), fixture.weights(), fixture.gradient(),
        nullptr);
    EXPECT_TRUE(result.ok()) << result.status();
    return std::make_pair(fixture.model().statistics_values().data()[0],
                          result->loss);
  };
  const auto usual = statistics("");
  EXPECT_NEAR(statistics("momentum: 0.5").first, 5 * usual.first, 1e-6);
  EXPECT_NE(statistics("epsilon: 0.5").second, usual.second);
}

std::vector<std::string> Problems(const ModelConfig& config,
                                  const ExampleShape& example) {
  ModelOptions options;
  const std::unique_ptr<Backend> backend = CpuBackendForTest();
  options.config = config;
  options.example = example;
  options.backend = backend.get();
  const absl::Status status = NewModel(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  std::string message(status.message());
  const std::string prefix = "model layers: ";
  EXPECT_EQ(message.substr(0, prefix.size()), prefix);
  return absl::StrSplit(message.substr(prefix.size()), '\n');
}

struct Mistake {
  std::string layers;
  std::string problem;
  ExampleShape example = MnistShape();
};

TEST(DescribedLayers, EveryMistakeIsNamed) {
  const std::string flat = "layer { flatten {} }";
  const std::string output = " layer { linear {} }";
  const std::string conv =
      "layer { convolution { out_channels: 4 kernel_size: 3 padding: 1 } }";
  const Mistake mistakes[] = {
      {"", "model.layers.layer is empty; must list the layers of the network"},
      {"layer { convolution { out_channels: 6 kernel_size: 5 } } "
       "layer { max_pooling { kernel_size: 20 } } "
       "layer { name: 'conv2' convolution { out_channels: 6 kernel_size: 7 "
       "padding: 1 } } layer { global_pooling {} }" +
           output,
       "the input of model.layers.layer[2] (\"conv2\") is [batch, 6, 1, 1]; "
       "with a padding of 1 on each side it must be at least 7 x 7, the "
       "kernel"},
      {"layer { max_pooling { kernel_size: 29 } } " + flat + output,
       "the input of model.layers.layer[0] (\"0\") is [batch, 1, 28, 28]; with "
       "a padding of 0 on each side it must be at least 29 x 29, the window"},
      {"layer { name: 'fc' linear { out_features: 7 } }" + output,
       "the input of model.layers.layer[0] (\"fc\") is [batch, 1, 28, 28]; "
       "must be [batch, features]: put `layer { flatten {} }` before it"},
      {flat + "layer { activation: 'gelu' }" + output,
       "model.layers.layer[1].activation (\"1\") is \"gelu\"; must be " +
           ActivationRule()},
      {flat + conv + "layer { global_pooling {} }" + output,
       "the input of model.layers.layer[1] (\"1\") is [batch, 784]; must be "
       "images, [batch, channels, height, width]"},
      {"layer { convolution { out_channels: 4 kernel_size: 3 groups: 2 } } "
       "layer { global_pooling {} }" +
           output,
       "the input of model.layers.layer[0] (\"0\") is [batch, 1, 28, 28]; the "
       "number of channels must be divisible by 2, the groups"},
      {"layer { convolution { kernel_size: 3 } } layer { global_pooling {} }" +
           output,
       "model.layers.layer[0].convolution.out_channels (\"0\") is 0; must be "
       "in [1, 65536]"},
      {"layer { convolution { out_channels: 4 kernel_size: [1, 2, 3] } } "
       "layer { global_pooling {} }" +
           output,
       "model.layers.layer[0].convolution.kernel_size (\"0\") is [1, 2, 3]; "
       "must be one number, or height and width"},
      {"layer { average_pooling { kernel_size: 3 padding: 2 } } " + flat +
           output,
       "model.layers.layer[0].average_pooling.padding (\"0\") is 2; must be at "
       "least 0 and at most half of kernel_size"},
      {conv +
           "layer { name: 'block' residual { layer { convolution { "
           "out_channels: 8 kernel_size: 1 stride: 2 } } layer { batch_norm {} "
           "} } } layer { global_pooling {} }" +
           output,
       "model.layers.layer[1].residual.shortcut (\"block\") is from [batch, 4, "
       "28, 28] to [batch, 4, 28, 28]; must give [batch, 8, 14, 14], the shape "
       "of the main path"},
      {conv + "layer { residual { " + conv +
           " } } layer { global_pooling {} }" + output,
       "model.layers.layer[1].residual.layer (\"1\") is a list of 1 layers; "
       "must have at least two, of which the last is a batch_norm"},
      {conv + "layer { residual { " + conv +
           " layer { batch_norm {} } shortcut { activation: 'relu' } } } "
           "layer { global_pooling {} }" +
           output,
       "model.layers.layer[1].residual.shortcut (\"1\") is a list that ends in "
       "an activation; must end in another layer"},
      {"layer { residual { layer { convolution { out_channels: 1 kernel_size: "
       "1 } } layer { batch_norm {} } } } " +
           flat + output,
       "model.layers.layer[0].residual.shortcut (\"0\") is without a "
       "convolution; must have one where the main path has one and none comes "
       "before the block"},
      {"layer { subsampling { out_channels: 4 } } " + flat + output,
       "model.layers.layer[0].subsampling.out_channels (\"0\") is 4; must be "
       "the input's number of channels, 1, or an even number more"},
      {flat + "layer { linear { out_features: 11 } }",
       "the output of model.layers is [batch, 11]; must be [batch, 10], a "
       "number for each of the data set's classes: a linear layer without "
       "out_features makes it"},
      {flat + "layer { dropout: 1 }" + output,
       "model.layers.layer[1].dropout (\"1\") is 1; must be in [0, 1)"},
      {flat + "layer { batch_norm { epsilon: 0 } }" + output,
       "model.layers.layer[1].batch_norm.epsilon (\"1\") is 0; must be in (0, "
       "1]"},
      {flat + "layer { name: 'a b' linear {} }",
       "model.layers.layer[1].name (\"a b\") is \"a b\"; must be 1 to 128 "
       "letters, digits, \".\", \"_\" and \"-\""},
      {"layer { name: '1' flatten {} }" + output,
       "model.layers.layer[1].name (\"1\") is \"1\"; must not be the name of "
       "an earlier layer"},
      {flat + "layer { linear { initial_weight { normal: -1 } } }",
       "model.layers.layer[1].linear.initial_weight.normal (\"1\") is -1; must "
       "be above 0"},
      {flat + "layer { linear { initial_bias { he_normal: FAN_IN } } }",
       "model.layers.layer[1].linear.initial_bias.he_normal (\"1\") is FAN_IN; "
       "is not possible here; use constant, uniform or normal"},
      {flat + "layer { lstm { hidden: 8 } }" + output,
       "the input of model.layers.layer[1] (\"1\") is [batch, 784]; must be a "
       "sequence, [steps, batch, features]"},
      {flat + "layer { embedding { features: 8 } }" + output,
       "the input of model.layers.layer[1] (\"1\") is [batch, 784]; must be "
       "the words or characters of a data set of text, [steps, batch]: an "
       "embedding is the first layer"},
      {"layer { gru { hidden: 8 } }" + output,
       "the input of model.layers.layer[0] (\"0\") is [steps, batch]; must be "
       "[steps, batch, features]: an embedding makes it from words or "
       "characters",
       TextShape(6)},
      {"layer { embedding { features: 8 } } layer { frame_window { window: 2 } "
       "}" +
           output,
       "the input of model.layers.layer[1] (\"1\") is [steps, batch, 8]; must "
       "be the frames of a data set of speech",
       TextShape(6)},
      {"layer { embedding { features: 8 } } layer { linear { out_features: 9 } "
       "} layer { linear { tied_to_embedding: true } }",
       "the input of model.layers.layer[2] (\"2\") is [steps, batch, 9]; must "
       "have 8 features, as many as the embedding that the layer is tied to",
       TextShape(6)},
      {flat + "layer { linear { tied_to_embedding: true } }",
       "model.layers.layer[1].linear.tied_to_embedding (\"1\") is true; needs "
       "an embedding as the first layer"},
      {"layer { embedding { features: 8 } } layer { batch_norm {} }" + output,
       "the input of model.layers.layer[1] (\"1\") is [steps, batch, 8]; must "
       "be images or [batch, features]; sequences have no batch normalisation",
       TextShape(6)},
      {"layer { lstm { hidden: 8 dropout: -1 } }" + output,
       "model.layers.layer[0].lstm.dropout (\"0\") is -1; must be in [0, 1)",
       SpeechShape()},
      {"layer { frame_window { window: 2 before: 2 } }" + output,
       "model.layers.layer[0].frame_window.before (\"0\") is 2; must be 0 to "
       "window - 1",
       SpeechShape()},
      {flat + "layer { global_pooling {} }" + output,
       "the input of model.layers.layer[1] (\"1\") is [batch, 784]; must be "
       "images, [batch, channels, height, width], or a sequence, [steps, "
       "batch, "
       "features]"},
      {flat + "layer { last_step {} }" + output,
       "the input of model.layers.layer[1] (\"1\") is [batch, 784]; must be a "
       "sequence, [steps, batch, features]"},
      {"layer { embedding { features: 8 } } layer { last_step {} }" + output,
       "the output of model.layers is [batch, 10]; must be [steps, batch, 10], "
       "a number for each of the data set's classes: a linear layer without "
       "out_features makes it",
       TextShape(6)},
      {"layer { embedding { features: 8 } }" + output,
       "the output of model.layers is [steps, batch, 10]; must be [batch, 10], "
       "a number for each of the data set's classes: a linear layer without "
       "out_features makes it",
       SmallExample("mean_classifier")},
  };
  for (const Mistake& mistake : mistakes) {
    EXPECT_THAT(Problems(Layers(mistake.layers), mistake.example),
                ElementsAre(mistake.problem))
        << mistake.layers;
  }
  EXPECT_THAT(
      Problems(Layers("layer {}" + flat + output), MnistShape()),
      ElementsAre(HasSubstr("model.layers.layer[0] (\"0\") is empty; must have "
                            "one of convolution, linear, ")));
}

TEST(DescribedLayers, AllProblemsAreReportedAtOnce) {
  EXPECT_THAT(
      Problems(
          Layers(R"(layer { convolution { out_channels: 4 kernel_size: 0 } }
                         layer { max_pooling { kernel_size: 2 } }
                         layer { activation: "swish" }
                         layer { linear { out_features: -3 } }
                         layer { dropout: 2 }
                         layer { linear { out_features: 3 } })"),
          MnistShape()),
      ElementsAre(HasSubstr("layer[0].convolution.kernel_size"),
                  HasSubstr("layer[2].activation"),
                  HasSubstr("layer[3].linear.out_features"),
                  HasSubstr("layer[3] (\"3\") is [batch, 4, ?, ?]"),
                  HasSubstr("layer[4].dropout"),
                  HasSubstr("the output of model.layers is [batch, 3]")));
}

TEST(DescribedLayers, HugeNetworksAreRefused) {
  std::string many;
  for (int i = 0; i < 1001; ++i) many += "layer { activation: 'relu' } ";
  EXPECT_THAT(Problems(Layers(many), MnistShape()),
              ElementsAre("model.layers.layer is longer; a network must have "
                          "at most 1000 layers"));
  std::string wide;
  for (int i = 0; i < 20; ++i)
    wide += "layer { frame_window { window: 1024 } }";
  const std::vector<std::string> problems =
      Problems(Layers(wide + "layer { linear {} }"), SpeechShape());
  EXPECT_THAT(absl::StrJoin(problems, "\n"), HasSubstr("fewer than 2^31"));
  EXPECT_THAT(absl::StrJoin(problems, "\n"), HasSubstr("65536 frames"));
  std::string heavy;
  for (int i = 0; i < 3; ++i) {
    heavy += "layer { linear { out_features: 65536 } }";
  }
  EXPECT_THAT(
      Problems(Layers("layer { flatten {} }" + heavy + "layer { linear {} }"),
               MnistShape())[0],
      HasSubstr("fewer than 2^32"));
}

// Before the data set is known.
std::vector<std::string> ConfigProblemsOf(const ModelConfig& model) {
  JobConfig job;
  *job.mutable_model() = model;
  return FindProblems(job).lines();
}

TEST(DescribedLayers, TheConfigCheckNeedsNoData) {
  for (const std::string& right :
       {std::string(kLenet5), Resnet20(), Resnet18(), std::string(kCharGru),
        std::string(kTiedLstm), std::string(kSpeechDnn)}) {
    EXPECT_THAT(ConfigProblemsOf(Layers(right)), IsEmpty());
  }
  EXPECT_THAT(ConfigProblemsOf(Layers(
                  R"(layer { convolution { out_channels: 4 kernel_size: 3 } }
             layer { linear {} } layer { activation: "gelu" })")),
              ElementsAre(HasSubstr("put `layer { flatten {} }` before it"),
                          HasSubstr("must be " + ActivationRule())));
  ModelConfig forgotten = Layers(kLenet5);
  forgotten.set_name("lenet5");
  EXPECT_THAT(ConfigProblemsOf(forgotten),
              ElementsAre("model.name is \"lenet5\"; must be \"layers\" to "
                          "train the network of model.layers"));
}

}  // namespace
}  // namespace ps
