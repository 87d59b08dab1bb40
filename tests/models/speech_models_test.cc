// speech_lstm and speech_dnn: sizes, names, lengths, and comparison with
// PyTorch.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/config.h"
#include "common/config_check.h"
#include "common/labelled_sequences.h"
#include "formats/safetensors.h"
#include "gtest/gtest.h"
#include "models/initial_weights.h"
#include "models/model.h"
#include "proto/config.pb.h"
#include "tests/models/model_fixture.h"
#include "tests/tensor/activations.h"

namespace ps {
namespace {

// The same as in tests/fixtures/make_speech_fixture.py.
ExampleShape SmallShape() {
  ExampleShape shape = SpeechShape();
  shape.features = 4;
  shape.num_classes = 5;
  shape.alphabet = "- abc";
  return shape;
}

ModelConfig Lstm() {
  ModelConfig config;
  config.set_name("speech_lstm");
  config.mutable_speech_lstm()->set_layers(2);
  config.mutable_speech_lstm()->set_hidden(6);
  return config;
}

ModelConfig Dnn() {
  ModelConfig config;
  config.set_name("speech_dnn");
  config.mutable_speech_dnn()->set_layers(3);
  config.mutable_speech_dnn()->set_hidden(7);
  config.mutable_speech_dnn()->set_context(2);
  config.mutable_speech_dnn()->set_stride(2);
  return config;
}

std::vector<std::string> Parameters(const ModelFixture& fixture) {
  std::vector<std::string> lines;
  for (const ParameterInfo& p : fixture.model().parameters()) {
    lines.push_back(absl::StrCat(p.name, " ", ShapeString(p.shape)));
  }
  return lines;
}

TEST(SpeechModels, HavePytorchsNamesAndShapes) {
  EXPECT_EQ(Parameters(ModelFixture(Lstm(), SmallShape())),
            (std::vector<std::string>{
                "rnn.weight_ih_l0 [24, 12]", "rnn.weight_hh_l0 [24, 6]",
                "rnn.bias_ih_l0 [24]", "rnn.bias_hh_l0 [24]",
                "rnn.weight_ih_l1 [24, 6]", "rnn.weight_hh_l1 [24, 6]",
                "rnn.bias_ih_l1 [24]", "rnn.bias_hh_l1 [24]",
                "output.weight [5, 6]", "output.bias [5]"}));
  EXPECT_EQ(
      Parameters(ModelFixture(Dnn(), SmallShape())),
      (std::vector<std::string>{"hidden.0.weight [7, 20]", "hidden.0.bias [7]",
                                "hidden.1.weight [7, 7]", "hidden.1.bias [7]",
                                "hidden.2.weight [7, 7]", "hidden.2.bias [7]",
                                "output.weight [5, 7]", "output.bias [5]"}));
}

int64_t NumParameters(const ModelConfig& config) {
  const std::unique_ptr<Backend> backend = CpuBackendForTest();
  ModelOptions options;
  options.config = config;
  options.example = SpeechShape();
  options.example.features = 40;
  options.example.num_classes = 29;
  options.example.alphabet = std::string(29, 'x');
  options.backend = backend.get();
  const auto model = NewModel(options);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? (*model)->num_parameters() : 0;
}

TEST(SpeechModels, HaveTheSizesOfTheirDescriptions) {
  ModelConfig config;
  config.set_name("speech_lstm");
  // 4 x 320 x (3 x 40 + 320 + 2); twice 4 x 320 x (2 x 320 + 2); 29 x 321.
  EXPECT_EQ(NumParameters(config), 565760 + 2 * 821760 + 9309);
  config.mutable_speech_lstm()->set_layers(5);
  config.mutable_speech_lstm()->set_hidden(800);
  EXPECT_EQ(NumParameters(config), 2950400 + 4 * 5126400 + 23229);
  config.set_name("speech_dnn");
  // 1024 x (11 x 40 + 1); four times 1024 x 1025; 29 x 1025.
  EXPECT_EQ(NumParameters(config), 451584 + 4 * 1049600 + 29725);
}

std::map<std::string, SafetensorsTensor> ReadFixture(const std::string& file) {
  const auto read =
      ReadSafetensors(absl::StrCat("tests/fixtures/", file, ".safetensors"));
  EXPECT_TRUE(read.ok()) << read.status();
  std::map<std::string, SafetensorsTensor> tensors;
  if (!read.ok()) return tensors;
  for (const SafetensorsTensor& tensor : read->tensors) {
    tensors[tensor.name] = tensor;
  }
  return tensors;
}

// The file's values of the model's parameters, as a flat vector.
std::vector<float> ReadFlat(const std::string& file, const Model& model) {
  std::vector<float> values(model.num_parameters());
  EXPECT_EQ(
      LoadInitialWeights(absl::StrCat("tests/fixtures/", file, ".safetensors"),
                         model, absl::MakeSpan(values), {}),
      absl::OkStatus());
  return values;
}

Batch FixtureBatch(const std::string& name) {
  std::map<std::string, SafetensorsTensor> tensors =
      ReadFixture(absl::StrCat(name, "_batch"));
  const auto integers = [&](const char* field) {
    const std::vector<float>& values = tensors[field].values;
    return std::vector<int32_t>(values.begin(), values.end());
  };
  Batch batch;
  batch.steps = tensors["inputs"].shape[0];
  batch.inputs = tensors["inputs"].values;
  batch.input_lengths = integers("input_lengths");
  batch.labels = integers("labels");
  batch.label_lengths = integers("label_lengths");
  return batch;
}

class SpeechModel : public testing::TestWithParam<ModelConfig> {
 protected:
  SpeechModel() : fixture_(GetParam(), SmallShape()) {
    const std::vector<float> weights =
        ReadFlat(GetParam().name(), fixture_.model());
    std::copy(weights.begin(), weights.end(), fixture_.weights().data());
  }

  BatchResult Train(const Batch& batch) {
    const auto result = fixture_.model().ForwardBackward(
        batch, fixture_.weights(), fixture_.gradient(), nullptr);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.value_or(BatchResult());
  }

  ModelFixture fixture_;
};

TEST_P(SpeechModel, LossAndGradientAgreeWithPytorch) {
  const std::string& name = GetParam().name();
  const BatchResult result = Train(FixtureBatch(name));
  const double expected =
      ReadFixture(absl::StrCat(name, "_batch")).at("loss").values[0];
  EXPECT_NEAR(result.loss, expected, 1e-5 * expected);
  const std::vector<float> theirs =
      ReadFlat(absl::StrCat(name, "_gradient"), fixture_.model());
  const std::vector<float> ours = fixture_.GradientValues();
  double largest = 0;
  for (const float value : theirs) {
    largest = std::max<double>(largest, std::abs(value));
  }
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_NEAR(ours[i], theirs[i], 1e-5 * largest) << "parameter " << i;
  }
}

TEST_P(SpeechModel, MorePaddingChangesNothing) {
  Batch batch = FixtureBatch(GetParam().name());
  const BatchResult expected = Train(batch);
  const std::vector<float> gradient = fixture_.GradientValues();
  const auto evaluation = fixture_.model().Evaluate(batch, fixture_.weights());
  batch.steps += 13;
  batch.inputs.resize(batch.steps * batch.size() * 4);
  // Matrix products of another size may round differently.
  EXPECT_NEAR(Train(batch).loss, expected.loss, 1e-6 * expected.loss);
  ExpectClose(fixture_.GradientValues(),
              std::vector<double>(gradient.begin(), gradient.end()), 1e-6);
  const auto padded = fixture_.model().Evaluate(batch, fixture_.weights());
  ASSERT_TRUE(evaluation.ok() && padded.ok());
  EXPECT_EQ(padded->character_errors, evaluation->character_errors);
}

TEST_P(SpeechModel, AShorterBatchHearsNothingOfALongerOne) {
  const Batch batch = FixtureBatch(GetParam().name());
  // One frame less uses the same plan, padded with silence.
  Batch shorter = batch;
  shorter.steps = 19;
  shorter.inputs.resize(19 * 3 * 4);
  shorter.input_lengths[0] = 19;
  const double expected = Train(shorter).loss;
  const std::vector<float> gradient = fixture_.GradientValues();
  Train(batch);
  EXPECT_EQ(Train(shorter).loss, expected);
  EXPECT_EQ(fixture_.GradientValues(), gradient);
}

TEST_P(SpeechModel, LengthsDifferByPlansInQuartersOfPowersOfTwo) {
  Batch batch = FixtureBatch(GetParam().name());
  int64_t bytes = 0;
  int changes = 0;
  for (batch.steps = 33; batch.steps <= 64; ++batch.steps) {
    batch.inputs.resize(batch.steps * 3 * 4);
    Train(batch);
    if (fixture_.model().activation_bytes() != bytes) ++changes;
    bytes = fixture_.model().activation_bytes();
  }
  EXPECT_EQ(changes, 4);
}

TEST_P(SpeechModel, EvaluationCountsErrorsAndTrainingDoesNot) {
  const Batch batch = FixtureBatch(GetParam().name());
  const BatchResult training = Train(batch);
  EXPECT_EQ(training.examples, 3);
  EXPECT_EQ(training.targets, 3);
  EXPECT_EQ(training.characters, 0);
  const auto evaluation = fixture_.model().Evaluate(batch, fixture_.weights());
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_EQ(evaluation->loss, training.loss);
  EXPECT_EQ(evaluation->characters, 8);
  // The transcripts are " aa", "c" and "b ac", where class 1 is the space.
  EXPECT_EQ(evaluation->words, 4);
  EXPECT_GT(evaluation->character_errors, 0);
  EXPECT_GT(evaluation->word_errors, 0);
}

TEST_P(SpeechModel, LearnsToSpellOneBatchWithoutErrors) {
  const Batch batch = FixtureBatch(GetParam().name());
  for (int i = 0; i < 2000 && Train(batch).loss > 0.05; ++i) {
    fixture_.Descend(0.1f);
  }
  const auto evaluation = fixture_.model().Evaluate(batch, fixture_.weights());
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_LE(evaluation->loss, 0.05);
  EXPECT_EQ(evaluation->character_errors, 0);
  EXPECT_EQ(evaluation->word_errors, 0);
}

TEST_P(SpeechModel, ATranscriptThatDoesNotFitIsNamed) {
  Batch batch = FixtureBatch(GetParam().name());
  // Five frames give two or three steps.
  batch.input_lengths[2] = 5;
  const absl::Status status =
      fixture_.model().Evaluate(batch, fixture_.weights()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(
      status.message(), "example 2 of the batch has a transcript of 4 labels"))
      << status;
  batch.input_lengths[2] = 21;
  EXPECT_TRUE(absl::StrContains(
      fixture_.model().Evaluate(batch, fixture_.weights()).status().message(),
      "example 2 of the batch has 21 frames; there are 20"));
  batch.input_lengths.pop_back();
  EXPECT_EQ(
      fixture_.model().Evaluate(batch, fixture_.weights()).status().code(),
      absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Zoo, SpeechModel, testing::Values(Lstm(), Dnn()),
                         [](const testing::TestParamInfo<ModelConfig>& info) {
                           return info.param.name();
                         });

TEST(SpeechModels, DropoutChangesTrainingOnly) {
  for (ModelConfig config : {Lstm(), Dnn()}) {
    const Batch batch = FixtureBatch(config.name());
    const auto run = [&](double dropout, bool training) {
      config.mutable_speech_lstm()->set_dropout(dropout);
      config.mutable_speech_dnn()->set_dropout(dropout);
      ModelFixture fixture(config, SmallShape());
      return training
                 ? fixture.model()
                       .ForwardBackward(batch, fixture.weights(),
                                        fixture.gradient(), nullptr)
                       ->loss
                 : fixture.model().Evaluate(batch, fixture.weights())->loss;
    };
    EXPECT_EQ(run(0.5, false), run(0, false));
    EXPECT_NE(run(0.5, true), run(0, true));
  }
}

// A recording of 24 frames, one of unknown length, and another of 24 frames.
class ThreeRecordings final : public LabelledSequences {
 public:
  int64_t size() const override { return 3; }
  std::string name(int64_t number) const override {
    return absl::StrCat(number, ".wav");
  }
  std::optional<int64_t> num_steps(int64_t number) const override {
    if (number == 1) return std::nullopt;
    return 24;
  }
  absl::Span<const int32_t> labels(int64_t number) const override {
    return number == 2 ? more_ : few_;
  }

 private:
  const std::vector<int32_t> few_ = {1, 2, 3};
  // Also needs an output between the equal labels.
  const std::vector<int32_t> more_ = {1, 2, 2};
};

TEST(SpeechModels, TranscriptsThatNeedMoreOutputsThanThereAreAreNamed) {
  ModelConfig config = Lstm();
  config.mutable_speech_lstm()->set_stack(7);  // 3 x 7 < 24: 4 outputs.
  const ThreeRecordings recordings;
  EXPECT_TRUE(ModelFixture(config, SmallShape())
                  .model()
                  .CheckSequences(recordings)
                  .ok());
  config.mutable_speech_lstm()->set_stack(8);
  EXPECT_EQ(
      ModelFixture(config, SmallShape()).model().CheckSequences(recordings),
      absl::InvalidArgumentError(
          "1 of 3 recordings are too short for their transcripts at 8 frames "
          "an output: 2.wav has 24 frames, and so 3 outputs; its transcript "
          "needs 4; let the model take fewer frames an output, or leave them "
          "out"));
}

TEST(SpeechModels, OtherDataSetsAreRefused) {
  const std::unique_ptr<Backend> backend = CpuBackendForTest();
  ModelOptions options;
  options.backend = backend.get();
  for (const ModelConfig& config : {Lstm(), Dnn()}) {
    options.config = config;
    options.example = MnistShape();
    absl::Status status = NewModel(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(status.message(), "data set of speech"))
        << status;
    options.example = SmallShape();
    options.example.alphabet.pop_back();
    status = NewModel(options).status();
    EXPECT_TRUE(absl::StrContains(status.message(), "4 characters for 5"))
        << status;
  }
}

TEST(SpeechModels, OptionsAreCheckedWithTheConfig) {
  JobConfig job;
  job.mutable_model()->mutable_speech_lstm()->set_stack(0);
  job.mutable_model()->mutable_speech_lstm()->set_hidden(-1);
  job.mutable_model()->mutable_speech_dnn()->set_context(65);
  job.mutable_model()->mutable_speech_dnn()->set_layers(0);
  job.mutable_model()->mutable_speech_dnn()->set_dropout(1);
  const ConfigProblems problems = FindProblems(job);
  std::vector<std::string> lines = problems.lines();
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "model.speech_dnn.context is 65; must be in [0, 64]",
                       "model.speech_dnn.dropout is 1; must be in [0, 1)",
                       "model.speech_dnn.layers is 0; must be in [1, 64]",
                       "model.speech_lstm.hidden is -1; must be in [1, 16384]",
                       "model.speech_lstm.stack is 0; must be in [1, 16]"}));
}

}  // namespace
}  // namespace ps
