#include "worker/layer_parallel/aux_network.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tests/tensor/activations.h"
#include "tests/worker/layer_parallel/hand_made_stages.h"
#include "worker/layer_parallel/auxiliary_steps.h"

namespace ps {
namespace {

constexpr int64_t kBatch = 4;
constexpr int64_t kChannels = 16;
constexpr char kKind[] = "test";

class AuxNetworkTest : public testing::Test {
 protected:
  AuxNetworkOptions Options() {
    AuxNetworkOptions options;
    options.cut.filter.planes = kChannels;
    options.cut.filter.height = 4;
    options.cut.filter.width = 4;
    options.example = SmallImages();  // 8 x 8.
    options.batch_size = kBatch;
    options.learning_rate = 0.001;
    options.seed = 1;
    options.number = 1;
    options.stage_weights = 10000;
    options.stage_multiplications = 1000000;
    options.backend = backend_.get();
    options.times = &times_;
    return options;
  }

  static std::string Saved(const CutVariables& network) {
    StateWriter state(kKind);
    network.Save(&state);
    return std::move(state).Finish();
  }

  // Convolutions from 3 channels to 4, four from 4 to 4 with a normalisation
  // behind each, and one to 16 with biases.
  static constexpr int64_t kNumWeights =
      3 * 4 * 9 + 4 * (4 * 4 * 9 + 2 * 4) + 4 * kChannels + kChannels;

  struct State {
    int64_t updates = 0;
    std::vector<float> weights = std::vector<float>(kNumWeights);
    std::vector<float> first_moment = std::vector<float>(kNumWeights);
    std::vector<float> second_moment = std::vector<float>(kNumWeights);
  };
  static State StateOf(const CutVariables& network) {
    const std::string bytes = Saved(network);
    auto reader = StateReader::Open(kKind, bytes);
    CHECK(reader.ok()) << reader.status();
    State state;
    state.updates = *reader->GetInt();
    CHECK(reader->GetFloats(absl::MakeSpan(state.weights)).ok());
    CHECK(reader->GetFloats(absl::MakeSpan(state.first_moment)).ok());
    CHECK(reader->GetFloats(absl::MakeSpan(state.second_moment)).ok());
    CHECK(reader->Finish().ok());
    return state;
  }
  static void SetState(const State& state, CutVariables* network) {
    StateWriter writer(kKind);
    writer.PutInt(state.updates);
    writer.PutFloats(state.weights);
    writer.PutFloats(state.first_moment);
    writer.PutFloats(state.second_moment);
    const std::string bytes = std::move(writer).Finish();
    auto reader = StateReader::Open(kKind, bytes);
    CHECK(reader.ok() && network->Load(&*reader).ok());
  }

  const std::unique_ptr<Backend> backend_ = CpuBackendForTest();
  LayerTimes times_;
  const Batch batch_ = RandomImages(kBatch, 3);
  const std::vector<int64_t> numbers_ = {0, 1, 2, 3};
  const Examples examples_ = {numbers_, &batch_};
};

TEST_F(AuxNetworkTest, LearnsAgainstTheGradientOfTheWholeLoss) {
  auto made = NewAuxNetwork(Options());
  ASSERT_TRUE(made.ok()) << made.status();
  CutVariables& network = **made;
  CutBatch cut;
  cut.step_size = 0.125;
  ASSERT_TRUE(network.Fetch(examples_, &cut).ok());
  ASSERT_EQ(cut.variables.size(), size_t{kBatch * kChannels * 16});
  EXPECT_TRUE(cut.multipliers.empty());

  // The stage behind the cut contributes <p, v>, so that p is its gradient.
  constexpr double kPenalty = 0.5;
  RandomStream random(4);
  std::vector<float> end(cut.variables.size());
  std::vector<float> p(cut.variables.size());
  for (float& x : end) x = static_cast<float>(random.Uniform(-1, 1));
  for (float& x : p) x = static_cast<float>(random.Uniform(-1, 1));
  const auto loss = [&](const std::vector<float>& variables) {
    double sum = 0;
    for (size_t i = 0; i < variables.size(); ++i) {
      const double mismatch = double{variables[i]} - end[i];
      sum += kPenalty / 2 * mismatch * mismatch + double{p[i]} * variables[i];
    }
    return sum / kBatch;
  };
  const State before = StateOf(network);
  CutValues<float> values;
  values.size = static_cast<int64_t>(cut.variables.size());
  values.variables = cut.variables.data();
  values.penalty = kPenalty;
  StepCut(values, end.data(), p.data(), cut.step_size, 0);
  ASSERT_TRUE(network.Store(examples_, cut).ok());
  const State after = StateOf(network);
  EXPECT_EQ(after.updates, 1);

  // Adam's first moment is a tenth of the first gradient.
  std::vector<double> gradient(kNumWeights);
  double squares = 0;
  for (int64_t i = 0; i < kNumWeights; ++i) {
    gradient[i] = 10.0 * after.first_moment[i];
    squares += gradient[i] * gradient[i];
  }
  // Along the gradient, and along a random direction.
  for (const bool along : {true, false}) {
    double expected = 0;
    State above = before;
    State below = before;
    constexpr double kDifference = 1e-3;
    for (int64_t i = 0; i < kNumWeights; ++i) {
      const double direction = along ? gradient[i] / std::sqrt(squares)
                               : gradient[i] > 0 ? 0.1
                                                 : -0.05;
      expected += direction * gradient[i];
      above.weights[i] += static_cast<float>(kDifference * direction);
      below.weights[i] -= static_cast<float>(kDifference * direction);
    }
    CutBatch moved;
    SetState(above, &network);
    ASSERT_TRUE(network.Fetch(examples_, &moved).ok());
    double difference = loss(moved.variables);
    SetState(below, &network);
    ASSERT_TRUE(network.Fetch(examples_, &moved).ok());
    difference -= loss(moved.variables);
    EXPECT_NEAR(difference / (2 * kDifference) / expected, 1, 0.02);
  }
}

TEST_F(AuxNetworkTest, RecordingTeachesTheActivations) {
  auto made = NewAuxNetwork(Options());
  ASSERT_TRUE(made.ok()) << made.status();
  std::vector<float> wanted(kBatch * kChannels * 16, 0.5f);
  const auto distance = [&] {
    CutBatch cut;
    CHECK((*made)->Fetch(examples_, &cut).ok());
    double squares = 0;
    for (const float v : cut.variables) squares += (v - 0.5) * (v - 0.5);
    return squares;
  };
  const double before = distance();
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE((*made)->Record(examples_, wanted, wanted).ok());
  }
  EXPECT_LT(distance(), before / 4);
}

TEST_F(AuxNetworkTest, StateGoesOnWithTheSameBits) {
  auto one = NewAuxNetwork(Options());
  auto other = NewAuxNetwork(Options());
  ASSERT_TRUE(one.ok() && other.ok());
  const std::vector<float> wanted(kBatch * kChannels * 16, 0.5f);
  ASSERT_TRUE((*one)->Record(examples_, wanted, wanted).ok());
  EXPECT_NE(Saved(**one), Saved(**other));
  SetState(StateOf(**one), other->get());
  ASSERT_TRUE((*one)->Record(examples_, wanted, wanted).ok());
  ASSERT_TRUE((*other)->Record(examples_, wanted, wanted).ok());
  EXPECT_EQ(Saved(**one), Saved(**other));
}

TEST_F(AuxNetworkTest, NetworksThatAreTooLargeOrDoNotFitAreRefused) {
  AuxNetworkOptions options = Options();
  options.stage_weights = 10 * kNumWeights - 1;
  EXPECT_TRUE(absl::StrContains(NewAuxNetwork(options).status().message(),
                                "at most 10 % and 15 %"));
  options.stage_weights = 10 * kNumWeights;
  EXPECT_TRUE(NewAuxNetwork(options).ok());
  options.cut.filter.height = 3;
  options.cut.filter.width = 3;
  EXPECT_TRUE(absl::StrContains(NewAuxNetwork(options).status().message(),
                                "whole ratio"));
}

}  // namespace
}  // namespace ps
