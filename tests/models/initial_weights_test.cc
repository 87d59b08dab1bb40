// Weights from files: PyTorch's, our own, and files that do not match.

#include "models/initial_weights.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/config.h"
#include "common/config_check.h"
#include "common/file.h"
#include "formats/safetensors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/config.pb.h"
#include "tests/models/model_fixture.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

ModelConfig Mlp() {
  ModelConfig config;
  config.set_name("mlp");
  config.mutable_mlp()->add_hidden_units(7);
  config.mutable_mlp()->add_hidden_units(6);
  return config;
}

ExampleShape MlpShape() {
  ExampleShape shape;
  shape.channels = 2;
  shape.height = 3;
  shape.width = 4;
  shape.num_classes = 5;
  return shape;
}

// A file of the model's weights, which a test can change before writing it.
class WeightFile {
 public:
  explicit WeightFile(const ModelFixture& fixture)
      : weights_(fixture.InitialWeights(7)) {
    for (const ParameterInfo& p : fixture.model().parameters()) {
      views_.push_back({p.name, p.shape,
                        absl::MakeConstSpan(weights_).subspan(
                            p.offset, NumElements(p.shape))});
    }
  }

  std::vector<SafetensorsView>& views() { return views_; }
  const std::vector<float>& weights() const { return weights_; }

  std::string Write() const {
    const std::string path = absl::StrCat(
        testing::TempDir(), "/",
        testing::UnitTest::GetInstance()->current_test_info()->name(),
        ".safetensors");
    EXPECT_TRUE(WriteSafetensors(path, views_, {}).ok());
    return path;
  }

 private:
  const std::vector<float> weights_;
  std::vector<SafetensorsView> views_;
};

absl::Status Load(const std::string& path, const ModelFixture& fixture,
                  std::vector<float>* weights) {
  weights->resize(fixture.model().num_parameters());
  return LoadInitialWeights(path, fixture.model(), absl::MakeSpan(*weights),
                            {});
}

// Expects the loss that PyTorch computed for the batch in tests/fixtures
// (make_safetensors_fixture.py).
void ExpectPytorchsLoss(const std::string& name, ModelFixture* fixture) {
  std::vector<float> weights;
  ASSERT_EQ(Load(absl::StrCat("tests/fixtures/", name, ".safetensors"),
                 *fixture, &weights),
            absl::OkStatus());
  std::copy(weights.begin(), weights.end(), fixture->weights().data());
  const auto file = ReadSafetensors(
      absl::StrCat("tests/fixtures/", name, "_batch.safetensors"));
  ASSERT_TRUE(file.ok()) << file.status();
  std::map<std::string, std::vector<float>> values;
  for (const SafetensorsTensor& tensor : file->tensors) {
    values[tensor.name] = tensor.values;
  }
  Batch batch;
  batch.inputs = values.at("inputs");
  batch.labels.assign(values.at("labels").begin(), values.at("labels").end());
  const auto result = fixture->model().Evaluate(batch, fixture->weights());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_NEAR(result->loss, values.at("loss")[0], 1e-5);
}

TEST(InitialWeights, PytorchsLenet5GivesPytorchsLoss) {
  ModelConfig config;
  config.set_name("lenet5");
  ExampleShape shape = MnistShape();
  shape.height = shape.width = 12;
  ModelFixture fixture(config, shape);
  ExpectPytorchsLoss("lenet5", &fixture);
}

TEST(InitialWeights, PytorchsMlpGivesPytorchsLoss) {
  ModelFixture fixture(Mlp(), MlpShape());
  ExpectPytorchsLoss("mlp", &fixture);
}

TEST(InitialWeights, WhatIsWrittenComesBackInAnyOrder) {
  const ModelFixture fixture(Mlp(), MlpShape());
  WeightFile file(fixture);
  std::swap(file.views()[0], file.views()[3]);
  std::vector<float> weights;
  ASSERT_EQ(Load(file.Write(), fixture, &weights), absl::OkStatus());
  EXPECT_EQ(weights, file.weights());
}

TEST(InitialWeights, PytorchsBatchCountsArePassedOver) {
  const ModelFixture fixture(Mlp(), MlpShape());
  WeightFile file(fixture);
  const std::vector<float> one = {1};
  file.views().push_back({"bn1.num_batches_tracked", {}, one});
  std::vector<float> weights;
  ASSERT_EQ(Load(file.Write(), fixture, &weights), absl::OkStatus());
  EXPECT_EQ(weights, file.weights());
}

TEST(InitialWeights, EveryTensorThatDoesNotFitIsReportedAtOnce) {
  const ModelFixture fixture(Mlp(), MlpShape());
  WeightFile file(fixture);
  file.views()[0].shape = {24, 7};
  file.views()[2].name = "layers.1.weight";
  file.views().pop_back();
  const std::string path = file.Write();
  std::vector<float> weights(fixture.model().num_parameters(), 3);
  const std::vector<float> before = weights;
  const absl::Status status = Load(path, fixture, &weights);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            absl::StrCat(path,
                         " does not hold the model's weights:\n"
                         "  layers.0.weight [24, 7] must have shape [7, 24]\n"
                         "  layers.1.weight [6, 7] is not one of the model's\n"
                         "  layers.2.weight [6, 7] is missing\n"
                         "  layers.4.bias [5] is missing"));
  EXPECT_EQ(weights, before);
}

TEST(InitialWeights, AValueThatIsNotFiniteIsNamed) {
  const ModelFixture fixture(Mlp(), MlpShape());
  WeightFile file(fixture);
  std::vector<float> bias(7, 1.0f);
  bias[3] = std::numeric_limits<float>::infinity();
  file.views()[1].values = bias;
  std::vector<float> weights;
  const absl::Status status = Load(file.Write(), fixture, &weights);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(
      status.message(),
      "layers.0.bias [7] has inf as element 3; must be finite"))
      << status;
}

TEST(InitialWeights, ATypeThatIsNotReadIsNamed) {
  ModelConfig linear;
  linear.set_name("mlp");
  ExampleShape shape = MlpShape();
  shape.channels = shape.height = shape.width = shape.num_classes = 1;
  const ModelFixture fixture(linear, shape);
  const std::string header =
      R"({"layers.0.weight":{"dtype":"F64","shape":[1,1],)"
      R"("data_offsets":[0,8]},)"
      R"("layers.0.bias":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})";
  const uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), 8);
  bytes += header + std::string(12, '\0');
  const std::string path = absl::StrCat(testing::TempDir(), "/f64.safetensors");
  ASSERT_TRUE(WriteFileAtomically(path, bytes).ok());
  std::vector<float> weights;
  const absl::Status status = Load(path, fixture, &weights);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("layers.0.weight [1, 1] has dtype F64; must be F32, F16 or"));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("layers.0.bias")));
}

TEST(InitialWeights, AFileThatIsNotThereIsNamed) {
  const ModelFixture fixture(Mlp(), MlpShape());
  std::vector<float> weights;
  const absl::Status status =
      Load("no/such/file.safetensors", fixture, &weights);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no/such/file"));
}

TEST(InitialWeights, RoomOfAnotherSizeIsRefused) {
  const ModelFixture fixture(Mlp(), MlpShape());
  const std::string path = WeightFile(fixture).Write();
  std::vector<float> weights(fixture.model().num_parameters());
  std::vector<float> statistics(1);
  EXPECT_EQ(LoadInitialWeights(path, fixture.model(), absl::MakeSpan(weights),
                               absl::MakeSpan(statistics))
                .code(),
            absl::StatusCode::kInvalidArgument);
  weights.pop_back();
  EXPECT_EQ(
      LoadInitialWeights(path, fixture.model(), absl::MakeSpan(weights), {})
          .code(),
      absl::StatusCode::kInvalidArgument);
}

TEST(InitialWeights, IgnoredTensorsKeepWhatTheyHad) {
  const ModelFixture fixture(Mlp(), MlpShape());
  WeightFile file(fixture);
  // As if the file were of a model with three classes.
  file.views()[4].shape = {3, 6};
  file.views()[4].values = file.views()[4].values.subspan(0, 18);
  file.views()[5].shape = {3};
  file.views()[5].values = file.views()[5].values.subspan(0, 3);
  const std::vector<float> one = {1};
  file.views().push_back({"head.extra", {1}, one});
  const std::string path = file.Write();
  const std::vector<float> before(fixture.model().num_parameters(), 0.5f);
  std::vector<float> weights = before;
  const auto load = [&](const std::vector<std::string>& ignore) {
    return LoadSomeWeights(path, fixture.model(), ignore,
                           absl::MakeSpan(weights), {});
  };
  EXPECT_EQ(load({"layers.4.*"}).message(),
            absl::StrCat(path,
                         " does not hold the model's weights:\n"
                         "  head.extra [1] is not one of the model's\n"
                         "To start with these tensors as without a file: "
                         "model { ignore: \"head.*\" }"));
  EXPECT_THAT(std::string(load({"layers.4.bias", "*.extra"}).message()),
              HasSubstr("model { ignore: \"layers.4.weight\" }"));
  EXPECT_THAT(std::string(load({"*extra"}).message()),
              AllOf(HasSubstr("layers.4.weight [3, 6] must have shape [5, 6]"),
                    HasSubstr("model { ignore: \"layers.4.*\" }")));
  EXPECT_THAT(std::string(load({"layers.4.*", "fc*"}).message()),
              HasSubstr("model.ignore has \"fc*\", which matches no tensor of "
                        "the model or of the file; their names are "
                        "head.extra, layers.0.bias, "));
  EXPECT_THAT(std::string(load({"*"}).message()),
              HasSubstr("model.ignore leaves no tensor of the model to load"));
  EXPECT_EQ(weights, before);
  ASSERT_EQ(load({"layers.?.weight", "layers.4.bias", "head*"}),
            absl::OkStatus());
  for (const ParameterInfo& p : fixture.model().parameters()) {
    const bool loaded = p.name == "layers.0.bias" || p.name == "layers.2.bias";
    const std::vector<float>& expected = loaded ? file.weights() : before;
    for (int64_t i = 0; i < NumElements(p.shape); ++i) {
      EXPECT_EQ(weights[p.offset + i], expected[p.offset + i]) << p.name;
    }
  }
}

TEST(InitialWeights, WhatTheFileLacksCanBeIgnored) {
  const ModelFixture fixture(Mlp(), MlpShape());
  WeightFile file(fixture);
  file.views().resize(4);
  const std::string path = file.Write();
  std::vector<float> weights(fixture.model().num_parameters());
  EXPECT_THAT(std::string(LoadSomeWeights(path, fixture.model(), {},
                                          absl::MakeSpan(weights), {})
                              .message()),
              AllOf(HasSubstr("layers.4.bias [5] is missing"),
                    HasSubstr("model { ignore: \"layers.4.*\" }")));
  EXPECT_EQ(LoadSomeWeights(path, fixture.model(), {"layers.4.*"},
                            absl::MakeSpan(weights), {}),
            absl::OkStatus());
}

// The first convolution is the one that takes the images.
TEST(InitialWeights, OtherChannelsOfImagesAreNamed) {
  ExampleShape colour = MnistShape();
  colour.channels = 3;
  ModelConfig lenet5;
  lenet5.set_name("lenet5");
  const ModelFixture coloured(lenet5, colour);
  const std::string path = WeightFile(coloured).Write();
  const ModelFixture grey(lenet5, MnistShape());
  std::vector<float> weights(grey.model().num_parameters());
  EXPECT_THAT(
      std::string(
          LoadSomeWeights(path, grey.model(), {}, absl::MakeSpan(weights), {})
              .message()),
      HasSubstr("  conv1.weight [6, 3, 5, 5] must have shape [6, 1, 5, 5]: "
                "this data has 1 channel, and these weights are for images of "
                "3 channels\n"));
}

TEST(InitialWeights, IgnoringNeedsAFile) {
  JobConfig config;
  config.mutable_model()->add_ignore("fc.*");
  const ConfigProblems found = FindProblems(config);
  EXPECT_THAT(found.lines(),
              ElementsAre("model.ignore is \"fc.*\"; must be empty without "
                          "model.initial_weights"));
}

TEST(InitialWeights, ThePathIsCheckedWithTheConfig) {
  const auto problems = [](const std::string& path) {
    JobConfig config;
    config.mutable_model()->set_initial_weights(path);
    const ConfigProblems found = FindProblems(config);
    return found.lines();
  };
  EXPECT_THAT(problems(""), IsEmpty());
  EXPECT_THAT(problems("runs/first/weights.safetensors"), IsEmpty());
  EXPECT_THAT(problems("weights.pt"),
              ElementsAre(AllOf(HasSubstr("\"weights.pt\"; must be a "
                                          ".safetensors file"),
                                HasSubstr("safetensors.torch.save_file"))));
}

}  // namespace
}  // namespace ps
