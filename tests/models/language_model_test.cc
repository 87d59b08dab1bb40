// lstm_lm and char_lstm: sizes, names, and the state carried from batch to
// batch.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/config.h"
#include "common/config_check.h"
#include "gtest/gtest.h"
#include "models/model.h"
#include "proto/config.pb.h"
#include "tests/models/model_fixture.h"
#include "tests/models/reference_models.h"
#include "tests/tensor/activations.h"
#include "tests/tensor/finite_difference.h"

namespace ps {
namespace {

ModelConfig LstmLm() {
  ModelConfig config;
  config.set_name("lstm_lm");
  config.mutable_lstm_lm()->set_hidden(7);
  config.mutable_lstm_lm()->set_embedding_size(5);
  config.mutable_lstm_lm()->set_dropout(0);
  // Far enough from 0 for all gates to matter.
  config.mutable_lstm_lm()->set_initial_range(0.5);
  return config;
}

ModelConfig CharLstm(CharLstmConfig::Cell cell) {
  ModelConfig config;
  config.set_name("char_lstm");
  config.mutable_char_lstm()->set_cell(cell);
  config.mutable_char_lstm()->set_hidden(7);
  config.mutable_char_lstm()->set_embedding_size(5);
  return config;
}

ModelConfig Tied() {
  ModelConfig config = LstmLm();
  config.mutable_lstm_lm()->set_embedding_size(0);
  config.mutable_lstm_lm()->set_tied_output(true);
  return config;
}

std::vector<std::string> Parameters(const ModelFixture& fixture) {
  std::vector<std::string> lines;
  for (const ParameterInfo& p : fixture.model().parameters()) {
    lines.push_back(absl::StrCat(p.name, " ", ShapeString(p.shape)));
  }
  return lines;
}

TEST(LstmLm, HasPytorchsNamesAndShapes) {
  EXPECT_EQ(Parameters(ModelFixture(LstmLm(), TextShape(3))),
            (std::vector<std::string>{
                "encoder.weight [10, 5]", "rnn.weight_ih_l0 [28, 5]",
                "rnn.weight_hh_l0 [28, 7]", "rnn.bias_ih_l0 [28]",
                "rnn.bias_hh_l0 [28]", "rnn.weight_ih_l1 [28, 7]",
                "rnn.weight_hh_l1 [28, 7]", "rnn.bias_ih_l1 [28]",
                "rnn.bias_hh_l1 [28]", "decoder.weight [10, 7]",
                "decoder.bias [10]"}));
  const std::vector<std::string> tied =
      Parameters(ModelFixture(Tied(), TextShape(3)));
  EXPECT_EQ(tied.front(), "encoder.weight [10, 7]");
  EXPECT_EQ(tied[tied.size() - 2], "rnn.bias_hh_l1 [28]");
  EXPECT_EQ(tied.back(), "decoder.bias [10]");
}

TEST(CharLstm, HasTheCellOfTheConfig) {
  EXPECT_EQ(
      Parameters(ModelFixture(CharLstm(CharLstmConfig::LSTM), TextShape(3)))[1],
      "rnn.weight_ih_l0 [28, 5]");
  EXPECT_EQ(
      Parameters(ModelFixture(CharLstm(CharLstmConfig::GRU), TextShape(3)))[1],
      "rnn.weight_ih_l0 [21, 5]");
}

int64_t NumParameters(const ModelConfig& config, int64_t num_classes) {
  const std::unique_ptr<Backend> backend = CpuBackendForTest();
  ModelOptions options;
  options.config = config;
  options.example = TextShape(1);
  options.example.num_classes = num_classes;
  options.backend = backend.get();
  const auto model = NewModel(options);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? (*model)->num_parameters() : 0;
}

TEST(LanguageModels, HaveThePapersSizes) {
  ModelConfig config;
  config.set_name("lstm_lm");
  EXPECT_EQ(NumParameters(config, 10000), 19780400);
  config.mutable_lstm_lm()->set_tied_output(true);
  EXPECT_EQ(NumParameters(config, 10000), 19780400 - 6500000);
  config.mutable_lstm_lm()->set_tied_output(false);
  config.mutable_lstm_lm()->set_hidden(1500);
  EXPECT_EQ(NumParameters(config, 10000), 66034000);
  config.set_name("char_lstm");
  // 65 x 64; 4 x 512 x (64 + 512 + 2); 4 x 512 x (512 + 512 + 2); 65 x 513.
  EXPECT_EQ(NumParameters(config, 65), 3322497);
}

TEST(LstmLm, AllWeightsBeginInTheConfigsRange) {
  const ModelFixture fixture(LstmLm(), TextShape(3));
  double sum_squares = 0;
  for (const float weight : fixture.InitialWeights(1)) {
    EXPECT_LE(std::abs(weight), 0.5f);
    sum_squares += weight * weight;
  }
  EXPECT_NEAR(sum_squares / fixture.model().num_parameters(), 0.25 / 3, 0.01);
}

// Steps [begin, end) of a batch.
Batch Steps(const Batch& batch, int64_t begin, int64_t end) {
  const int64_t size = batch.size();
  Batch part;
  part.steps = end - begin;
  part.inputs.assign(batch.inputs.begin() + begin * size,
                     batch.inputs.begin() + end * size);
  part.labels.assign(batch.labels.begin() + begin * size,
                     batch.labels.begin() + end * size);
  part.continues = begin > 0;
  return part;
}

ReferenceLanguageModel ReferenceOf(const ModelConfig& config) {
  ReferenceLanguageModel reference;
  reference.recurrent.hidden = 7;
  reference.layers = 2;
  reference.embedding_size = 5;
  if (config.name() == "char_lstm" &&
      config.char_lstm().cell() == CharLstmConfig::GRU) {
    reference.recurrent.cell = RecurrentShape::Cell::kGru;
  }
  if (config.name() == "lstm_lm" && config.lstm_lm().tied_output()) {
    reference.embedding_size = 7;
    reference.tied_output = true;
  }
  return reference;
}

class LanguageModelGradient : public testing::TestWithParam<ModelConfig> {};

// Tests the second of two batches where the second continues the first.
TEST_P(LanguageModelGradient, EqualsTheReferenceModels) {
  ModelFixture fixture(GetParam(), TextShape(4));
  const ReferenceLanguageModel reference = ReferenceOf(GetParam());
  const std::vector<float> weights = fixture.InitialWeights(1);
  const std::vector<double> zeros(3 * reference.recurrent.hidden);
  std::vector<ReferenceState> states(2, {zeros, zeros});
  const Batch first = fixture.RandomBatch(3, 1);
  Batch second = fixture.RandomBatch(3, 2);
  second.continues = true;
  BatchResult result;
  for (const Batch& batch : {first, second}) {
    const auto step = fixture.model().ForwardBackward(
        batch, fixture.weights(), fixture.gradient(), nullptr);
    ASSERT_TRUE(step.ok()) << step.status();
    result = *step;
  }
  ReferenceLanguageModelLoss({weights.begin(), weights.end()}, reference,
                             fixture.example(), first, &states);
  const auto loss = [&](const std::vector<double>& weights) {
    std::vector<ReferenceState> carried = states;
    return ReferenceLanguageModelLoss(weights, reference, fixture.example(),
                                      second, &carried);
  };
  EXPECT_NEAR(result.loss, loss({weights.begin(), weights.end()}), 1e-6);
  const std::vector<float> gradient = fixture.GradientValues();
  // Tests some parameters of each tensor, since small ones would be missed
  // otherwise.
  for (const ParameterInfo& p : fixture.model().parameters()) {
    const auto begin = static_cast<size_t>(p.offset);
    const auto end = begin + NumElements(p.shape);
    FiniteDifferenceOptions options;
    options.name = p.name;
    options.step = 1e-5;
    options.tolerance = 1e-6;
    options.max_elements = 40;
    ExpectGradient(
        options,
        [&](const std::vector<double>& part) {
          std::vector<double> all(weights.begin(), weights.end());
          std::copy(part.begin(), part.end(), all.begin() + begin);
          return loss(all);
        },
        std::vector<float>(weights.begin() + begin, weights.begin() + end),
        std::vector<float>(gradient.begin() + begin, gradient.begin() + end));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, LanguageModelGradient,
                         testing::Values(LstmLm(), Tied(),
                                         CharLstm(CharLstmConfig::LSTM),
                                         CharLstm(CharLstmConfig::GRU)));

class CarriedState : public testing::TestWithParam<ModelConfig> {};

TEST_P(CarriedState, TwoBatchesThatContinueHaveTheLossOfOneLongOne) {
  ModelFixture whole(GetParam(), TextShape(20));
  ModelFixture halves(GetParam(), TextShape(10));
  const Batch batch = whole.RandomBatch(3, 1);
  const Batch first = Steps(batch, 0, 10);
  const Batch second = Steps(batch, 10, 20);
  const auto expected = whole.model().Evaluate(batch, whole.weights());
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(expected->targets, 60);
  EXPECT_EQ(expected->examples, 3);
  // Runs twice, in evaluation and training: each has its own state, and a batch
  // that does not continue the previous one starts from zero.
  for (int i = 0; i < 2; ++i) {
    double evaluated = 0, trained = 0;
    for (const Batch* part : {&first, &second}) {
      const auto evaluation = halves.model().Evaluate(*part, halves.weights());
      const auto training = halves.model().ForwardBackward(
          *part, halves.weights(), halves.gradient(), nullptr);
      ASSERT_TRUE(evaluation.ok()) << evaluation.status();
      ASSERT_TRUE(training.ok()) << training.status();
      evaluated += evaluation->loss / 2;
      trained += training->loss / 2;
    }
    EXPECT_NEAR(evaluated, expected->loss, 1e-6);
    EXPECT_NEAR(trained, expected->loss, 1e-6);
  }
  // Checks that the state does matter.
  Batch fresh = second;
  fresh.continues = false;
  const auto with = halves.model().Evaluate(second, halves.weights());
  const auto without = halves.model().Evaluate(fresh, halves.weights());
  ASSERT_TRUE(with.ok() && without.ok());
  EXPECT_NE(with->loss, without->loss);
}

// The last windows of a text are shorter, and its rows may change.
TEST_P(CarriedState, GoesOnInABatchOfAnotherLength) {
  ModelFixture whole(GetParam(), TextShape(10));
  ModelFixture parts(GetParam(), TextShape(4));
  const Batch batch = whole.RandomBatch(1, 1);
  const auto expected = whole.model().Evaluate(batch, whole.weights());
  ASSERT_TRUE(expected.ok()) << expected.status();
  // Three lengths, and two that were planned before.
  const std::vector<std::vector<int64_t>> cuts = {{0, 4, 8, 10},
                                                  {0, 4, 5, 8, 10}};
  for (const std::vector<int64_t>& begins : cuts) {
    double sum = 0;
    for (size_t i = 0; i + 1 < begins.size(); ++i) {
      const Batch part = Steps(batch, begins[i], begins[i + 1]);
      const auto result = parts.model().Evaluate(part, parts.weights());
      ASSERT_TRUE(result.ok()) << result.status();
      sum += result->loss * static_cast<double>(result->targets);
    }
    EXPECT_NEAR(sum / 10, expected->loss, 1e-6);
  }
}

TEST_P(CarriedState, ABatchWithOtherRowsBeginsWithoutState) {
  ModelFixture model(GetParam(), TextShape(4));
  const auto loss = [&model](const Batch& batch) {
    const auto result = model.model().Evaluate(batch, model.weights());
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->loss : 0;
  };
  Batch batch = model.RandomBatch(3, 1);
  const double fresh = loss(batch);
  // A batch of one row comes between.
  loss(model.RandomBatch(1, 2));
  batch.continues = true;
  EXPECT_EQ(loss(batch), fresh);
  EXPECT_NE(loss(batch), fresh);
}

TEST_P(CarriedState, EvaluationBetweenTwoBatchesChangesNothing) {
  ModelFixture plain(GetParam(), TextShape(10));
  ModelFixture evaluated(GetParam(), TextShape(10));
  const Batch first = plain.RandomBatch(3, 1);
  Batch second = plain.RandomBatch(3, 2);
  second.continues = true;
  for (ModelFixture* fixture : {&plain, &evaluated}) {
    ASSERT_TRUE(fixture->model()
                    .ForwardBackward(first, fixture->weights(),
                                     fixture->gradient(), nullptr)
                    .ok());
    if (fixture == &evaluated) {
      ASSERT_TRUE(fixture->model()
                      .Evaluate(fixture->RandomBatch(3, 9), fixture->weights())
                      .ok());
    }
    ASSERT_TRUE(fixture->model()
                    .ForwardBackward(second, fixture->weights(),
                                     fixture->gradient(), nullptr)
                    .ok());
  }
  EXPECT_EQ(plain.GradientValues(), evaluated.GradientValues());
}

TEST_P(CarriedState, GoesOnInAnotherModelThatLoadsIt) {
  ModelFixture first(GetParam(), TextShape(10));
  ModelFixture second(GetParam(), TextShape(10));
  Batch batch = first.RandomBatch(3, 1);
  const auto train = [&batch](ModelFixture& fixture) {
    const auto result = fixture.model().ForwardBackward(
        batch, fixture.weights(), fixture.gradient(), nullptr);
    EXPECT_TRUE(result.ok()) << result.status();
    return fixture.GradientValues();
  };
  EXPECT_EQ(first.model().SaveState().value(), "") << "not trained yet";
  const std::vector<float> fresh = train(first);
  const std::string state = first.model().SaveState().value();
  ASSERT_TRUE(second.model().LoadState(state).ok());
  batch.continues = true;
  const std::vector<float> carried = train(first);
  EXPECT_EQ(train(second), carried);
  EXPECT_NE(carried, fresh);
  for (const std::string& damaged :
       {state.substr(0, state.size() - 1), state + "x", std::string("x")}) {
    ModelFixture other(GetParam(), TextShape(10));
    EXPECT_TRUE(absl::IsDataLoss(other.model().LoadState(damaged)));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CarriedState,
                         testing::Values(LstmLm(), Tied(),
                                         CharLstm(CharLstmConfig::LSTM),
                                         CharLstm(CharLstmConfig::GRU)));

TEST(LanguageModels, DropInTrainingAlone) {
  ModelConfig config = LstmLm();
  config.mutable_lstm_lm()->set_hidden(40);
  ModelFixture plain(config, TextShape(6));
  config.mutable_lstm_lm()->set_dropout(0.5);
  ModelFixture dropping(config, TextShape(6));
  Batch batch = plain.RandomBatch(8, 1);
  const auto train = [&](ModelFixture& fixture, uint64_t random_key) {
    batch.random_key = random_key;
    const auto result = fixture.model().ForwardBackward(
        batch, fixture.weights(), fixture.gradient(), nullptr);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->loss : 0;
  };
  const auto evaluated = dropping.model().Evaluate(batch, dropping.weights());
  ASSERT_TRUE(evaluated.ok()) << evaluated.status();
  EXPECT_NEAR(evaluated->loss, train(plain, 1), 1e-6);
  EXPECT_EQ(train(plain, 1), train(plain, 2));
  EXPECT_NE(train(dropping, 1), train(dropping, 2));
  EXPECT_EQ(train(dropping, 1), train(dropping, 1));
}

TEST(LanguageModels, RefuseWhatTheyCannotBe) {
  const std::unique_ptr<Backend> backend = CpuBackendForTest();
  const auto expect_refused = [&](const ModelConfig& config,
                                  const ExampleShape& example,
                                  const std::string& part) {
    ModelOptions options;
    options.config = config;
    options.example = example;
    options.backend = backend.get();
    const absl::Status status = NewModel(options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(status.message(), part)) << status;
  };
  expect_refused(LstmLm(), MnistShape(), "text");
  ModelConfig config = Tied();
  config.mutable_lstm_lm()->set_embedding_size(5);
  expect_refused(config, TextShape(3), "tied_output");
  config = LstmLm();
  config.mutable_lstm_lm()->set_layers(0);
  expect_refused(config, TextShape(3), "model.lstm_lm.layers is 0");
}

TEST(LanguageModels, TokensThatAreNoWordAreRefused) {
  ModelFixture fixture(LstmLm(), TextShape(3));
  Batch batch = fixture.RandomBatch(2, 1);
  batch.inputs[4] = 10;
  const absl::Status status =
      fixture.model().Evaluate(batch, fixture.weights()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(status.message(), "token 10")) << status;
}

TEST(LanguageModelConfigCheck, ReportsEveryField) {
  JobConfig config;
  LstmLmConfig* const lstm = config.mutable_model()->mutable_lstm_lm();
  lstm->set_layers(17);
  lstm->set_hidden(0);
  lstm->set_embedding_size(3);
  lstm->set_dropout(1);
  lstm->set_tied_output(true);
  lstm->set_initial_range(0);
  CharLstmConfig* const characters =
      config.mutable_model()->mutable_char_lstm();
  characters->set_layers(0);
  characters->set_hidden(16385);
  characters->set_embedding_size(-1);
  characters->set_dropout(-0.5);
  const ConfigProblems problems = FindProblems(config);
  for (const char* line :
       {"model.lstm_lm.layers is 17; must be in [1, 16]",
        "model.lstm_lm.hidden is 0; must be in [1, 16384]",
        "model.lstm_lm.embedding_size is 3; must be 0 or `hidden` with "
        "tied_output",
        "model.lstm_lm.dropout is 1; must be in [0, 1)",
        "model.lstm_lm.initial_range is 0; must be in (0, 1]",
        "model.char_lstm.layers is 0; must be in [1, 16]",
        "model.char_lstm.hidden is 16385; must be in [1, 16384]",
        "model.char_lstm.embedding_size is -1; must be in [0, 16384]",
        "model.char_lstm.dropout is -0.5; must be in [0, 1)"}) {
    const auto& lines = problems.lines();
    EXPECT_EQ(std::count(lines.begin(), lines.end(), line), 1) << line;
  }
  EXPECT_EQ(problems.lines().size(), 9);
}

}  // namespace
}  // namespace ps
