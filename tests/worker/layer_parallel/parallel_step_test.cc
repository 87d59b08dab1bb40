// Stages of real layers against back-propagation through the whole network.

#include "worker/layer_parallel/parallel_step.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tests/models/model_fixture.h"
#include "tests/tensor/activations.h"
#include "tests/worker/layer_parallel/hand_made_stages.h"
#include "worker/layer_parallel/network_cuts.h"

namespace ps {
namespace {

constexpr double kPenalty = 0.7;

// A network in stages with its vectors.
class Staged {
 public:
  Staged(std::vector<Stage> stages, const ExampleShape& example,
         int64_t batch_size, std::vector<float> weights)
      : stages_(std::move(stages)),
        weights_(std::move(weights)),
        gradient_(weights_.size()),
        statistics_(stages_.back().statistics_end) {
    StagedNetwork::Options options;
    options.stages = &stages_;
    options.example = example;
    options.batch_size = batch_size;
    options.backend = backend_.get();
    options.times = &times_;
    auto network = StagedNetwork::Create(options);
    CHECK(network.ok()) << network.status();
    network_ = *std::move(network);
    step_.penalty = kPenalty;
    for (int k = 1; k < network_->num_stages(); ++k) {
      const Shape shape = network_->start_shape(k);
      CutOptions cut;
      cut.filter.planes = shape[0];
      cut.filter.height = shape[1];
      cut.filter.width = shape[2];
      step_.cuts.push_back(cut);
    }
  }

  StagedNetwork& network() { return *network_; }
  ParallelStepOptions& step() { return step_; }
  std::vector<float>& gradient() { return gradient_; }
  std::vector<float>& weights() { return weights_; }

  StepVectors vectors() {
    StepVectors vectors;
    vectors.weights = weights_.data();
    vectors.statistics = statistics_.data();
    vectors.gradient = gradient_.data();
    return vectors;
  }

  double Serial(const Batch& batch) {
    const auto result = network_->SerialStep(batch, vectors());
    CHECK(result.ok()) << result.status();
    return result->loss;
  }

  // After Serial: the activations, and the gradients as multipliers.
  std::vector<CutBatch> Recorded() {
    std::vector<CutBatch> cuts(step_.cuts.size());
    for (size_t i = 0; i < cuts.size(); ++i) {
      const int64_t size =
          network_->batch_size() * step_.cuts[i].filter.full_size();
      const float* const end = network_->stage(i).end();
      const float* const gradient = network_->stage(i + 1).start_gradient();
      cuts[i].variables.assign(end, end + size);
      cuts[i].multipliers.assign(gradient, gradient + size);
      for (float& m : cuts[i].multipliers) {
        m *= static_cast<float>(network_->batch_size());
      }
    }
    return cuts;
  }

  double Parallel(const Batch& batch, std::vector<CutBatch>* cuts) {
    const auto result =
        ParallelStep(step_, batch, vectors(), network_.get(), cuts);
    CHECK(result.ok()) << result.status();
    return result->batch.loss;
  }

 private:
  const std::unique_ptr<Backend> backend_ = CpuBackendForTest();
  LayerTimes times_;
  const std::vector<Stage> stages_;
  std::vector<float> weights_;
  std::vector<float> gradient_;
  std::vector<float> statistics_;
  std::unique_ptr<StagedNetwork> network_;
  ParallelStepOptions step_;
};

double LargestDifference(const std::vector<float>& a,
                         const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(double{a[i]} - b[i]));
  }
  return largest;
}

ModelConfig Resnet20() {
  ModelConfig config;
  config.set_name("resnet20");
  return config;
}

std::vector<Stage> Cut(const Model& model, const ExampleShape& example,
                       int stages, const std::vector<std::string>& names = {}) {
  LayerParallelConfig config;
  config.set_stages(stages);
  for (const std::string& name : names) config.add_cut_before(name);
  auto cut = CutNetwork(model, example, config);
  CHECK(cut.ok()) << cut.status();
  return *std::move(cut);
}

class CutResnet : public testing::TestWithParam<int> {};

TEST_P(CutResnet, SerialStepIsTheModelsAndRecordedStagesGiveItsGradient) {
  const ExampleShape example = ColourShape(16, 10);
  ModelFixture fixture(Resnet20(), example);
  const Batch batch = fixture.RandomBatch(6, 3);
  const auto expected = fixture.model().ForwardBackward(
      batch, fixture.weights(), fixture.gradient(), nullptr);
  ASSERT_TRUE(expected.ok()) << expected.status();

  Staged staged(Cut(fixture.model(), example, GetParam()), example, 6,
                fixture.InitialWeights(1));
  EXPECT_EQ(staged.Serial(batch), expected->loss);
  EXPECT_EQ(staged.gradient(), fixture.GradientValues());

  std::vector<CutBatch> cuts = staged.Recorded();
  std::fill(staged.gradient().begin(), staged.gradient().end(), 0.0f);
  EXPECT_EQ(staged.Parallel(batch, &cuts), expected->loss);
  EXPECT_LT(LargestDifference(staged.gradient(), fixture.GradientValues()),
            1e-5);
}

INSTANTIATE_TEST_SUITE_P(Stages, CutResnet, testing::Values(2, 3, 5, 10));

TEST(NetworkCuts, StagesTileTheModelAndAreAsEqualAsPossible) {
  const ExampleShape example = ColourShape(32, 10);
  ModelFixture fixture(Resnet20(), example);
  const std::vector<Stage> stages = Cut(fixture.model(), example, 3);
  ASSERT_EQ(stages.size(), 3u);
  EXPECT_EQ(stages[0].begin, 0);
  EXPECT_EQ(stages[0].end, stages[1].begin);
  EXPECT_EQ(stages[1].end, stages[2].begin);
  EXPECT_EQ(stages[2].end, fixture.model().num_parameters());
  EXPECT_EQ(stages[2].statistics_end,
            fixture.model().statistics_values().size());
  EXPECT_EQ(stages[1].name, "layer2.0");
  EXPECT_EQ(stages[2].name, "layer3.0");
  // 3 blocks of two convolutions with 16 channels on 32 x 32, the first
  // convolution, and its normalisation's 32 weights.
  EXPECT_EQ(stages[0].multiplications,
            (6 * 16 * 16 * 9 + 3 * 16 * 9) * 1024 + 7 * 32);
}

TEST(NetworkCuts, WrongCutsAreRefused) {
  const ExampleShape example = ColourShape(32, 10);
  ModelFixture fixture(Resnet20(), example);
  const auto refusal = [&](int stages, const std::vector<std::string>& names) {
    LayerParallelConfig config;
    config.set_stages(stages);
    for (const std::string& name : names) config.add_cut_before(name);
    const auto cut = CutNetwork(fixture.model(), example, config);
    EXPECT_EQ(cut.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(cut.status().message());
  };
  EXPECT_TRUE(absl::StrContains(refusal(2, {"linear"}), "layer1.0, layer1.1"));
  EXPECT_TRUE(
      absl::StrContains(refusal(3, {"layer2.0", "layer1.0"}), "in this order"));
  EXPECT_TRUE(absl::StrContains(refusal(11, {}), "at most 10 stages"));
  ModelFixture text("lstm_lm");
  LayerParallelConfig config;
  EXPECT_TRUE(absl::StrContains(
      CutNetwork(text.model(), text.example(), config).status().message(),
      "must have images"));
}

TEST(ParallelStep, WithoutMultipliersOnlyTheLastStageLearnsAtFirst) {
  Staged staged(SmoothStages(3), SmallImages(), 4,
                RandomWeights(SmoothStages(3)));
  const Batch batch = RandomImages(4, 5);
  staged.Serial(batch);
  const std::vector<float> serial = staged.gradient();
  std::vector<CutBatch> cuts = staged.Recorded();
  for (CutBatch& cut : cuts) {
    cut.multipliers.clear();
    cut.step_size = 0.2;
  }
  const int64_t last = SmoothStages(3)[2].begin;
  staged.Parallel(batch, &cuts);
  for (int64_t i = 0; i < last; ++i) ASSERT_EQ(staged.gradient()[i], 0) << i;
  EXPECT_EQ(std::vector<float>(staged.gradient().begin() + last,
                               staged.gradient().end()),
            std::vector<float>(serial.begin() + last, serial.end()));
  EXPECT_EQ(cuts[1].mismatch, 0);
  // The variables have moved, which reaches the stage before the last cut now,
  // and the first stage after one more step.
  staged.Parallel(batch, &cuts);
  EXPECT_GT(cuts[1].mismatch, 0);
  const int64_t middle = SmoothStages(3)[1].begin;
  EXPECT_EQ(staged.gradient()[0], 0);
  EXPECT_NE(staged.gradient()[middle], 0);
  staged.Parallel(batch, &cuts);
  EXPECT_NE(staged.gradient()[0], 0);
}

// The variables of an example, and the sum of gradients, do not depend on what
// else is in the batch.
TEST(ParallelStep, VariablesMoveAsFarInAnyBatchSize) {
  constexpr int64_t kExamples = 8;
  const Batch batch = RandomImages(kExamples, 5);
  Staged together(SmoothStages(3), SmallImages(), kExamples,
                  RandomWeights(SmoothStages(3)));
  together.step().inner_steps = 2;
  together.Serial(batch);
  std::vector<CutBatch> cuts = together.Recorded();
  for (CutBatch& cut : cuts) {
    cut.step_size = 0.3;
    for (float& m : cut.multipliers) m = 0.1f + m / 2;
  }
  Staged alone(SmoothStages(3), SmallImages(), 1,
               RandomWeights(SmoothStages(3)));
  alone.step().inner_steps = 2;
  std::vector<float> mean(alone.gradient().size());
  std::vector<std::vector<CutBatch>> single(kExamples);
  for (int64_t i = 0; i < kExamples; ++i) {
    for (const CutBatch& cut : cuts) {
      const auto row = static_cast<int64_t>(cut.variables.size()) / kExamples;
      CutBatch part;
      part.step_size = cut.step_size;
      part.variables.assign(cut.variables.begin() + i * row,
                            cut.variables.begin() + (i + 1) * row);
      part.multipliers.assign(cut.multipliers.begin() + i * row,
                              cut.multipliers.begin() + (i + 1) * row);
      single[i].push_back(part);
    }
    Batch example;
    const int64_t inputs = SmallImages().num_elements();
    example.inputs.assign(batch.inputs.begin() + i * inputs,
                          batch.inputs.begin() + (i + 1) * inputs);
    example.labels = {batch.labels[i]};
    alone.Parallel(example, &single[i]);
    for (size_t j = 0; j < mean.size(); ++j) {
      mean[j] += alone.gradient()[j] / kExamples;
    }
  }
  together.Parallel(batch, &cuts);
  EXPECT_LT(LargestDifference(together.gradient(), mean), 1e-5);
  for (size_t c = 0; c < cuts.size(); ++c) {
    const size_t row = cuts[c].variables.size() / kExamples;
    for (int64_t i = 0; i < kExamples; ++i) {
      const std::vector<float> variables(
          cuts[c].variables.begin() + i * row,
          cuts[c].variables.begin() + (i + 1) * row);
      EXPECT_LT(LargestDifference(variables, single[i][c].variables), 1e-5);
      const std::vector<float> multipliers(
          cuts[c].multipliers.begin() + i * row,
          cuts[c].multipliers.begin() + (i + 1) * row);
      EXPECT_LT(LargestDifference(multipliers, single[i][c].multipliers), 1e-5);
    }
  }
}

// The whole loss at variables `at`, the sum over examples, since nothing of it
// is divided by the batch size. Its penalties are those of blocks of `extent`.
double WholeLoss(const Batch& batch, const std::vector<CutBatch>& at,
                 Staged* staged) {
  StagedNetwork& network = staged->network();
  double sum = 0;
  std::vector<float> start = batch.inputs;
  for (int k = 0;; ++k) {
    CHECK(network.stage(k)
              .Forward(start.data(),
                       network.StageValues(k, batch, staged->vectors()))
              .ok());
    if (k + 1 == network.num_stages()) break;
    BlockFilter filter = staged->step().cuts[k].filter;
    filter.planes *= batch.size();
    std::vector<float> end(filter.filtered_size());
    filter.Mean(network.stage(k).end(), end.data());
    for (size_t i = 0; i < end.size(); ++i) {
      const double mismatch = double{at[k].variables[i]} - end[i];
      sum += static_cast<double>(filter.extent * filter.extent) *
             (kPenalty / 2 * mismatch * mismatch -
              at[k].multipliers[i] * mismatch);
    }
    start.resize(filter.full_size());
    filter.Repeat(at[k].variables.data(), start.data());
  }
  return sum + static_cast<double>(batch.size()) * network.RunLoss(batch)->loss;
}

class StepsOfBlocks : public testing::TestWithParam<int> {};

// Both sides of a cut use the weights from before the update; the gradients are
// then those of the whole loss.
TEST_P(StepsOfBlocks, GoAgainstTheGradientOfTheWholeLoss) {
  constexpr int64_t kExamples = 2;
  constexpr double kDifference = 1e-2;
  constexpr double kStep = 1.0 / 16;
  const int64_t extent = GetParam();
  const Batch batch = RandomImages(kExamples, 5);
  Staged staged(SmoothStages(3), SmallImages(), kExamples,
                RandomWeights(SmoothStages(3)));
  staged.Serial(batch);
  std::vector<CutBatch> cuts = staged.Recorded();
  RandomStream random(9);
  for (size_t c = 0; c < cuts.size(); ++c) {
    staged.step().cuts[c].filter.extent = extent;
    cuts[c].step_size = kStep;
    cuts[c].variables.resize(cuts[c].variables.size() / (extent * extent));
    cuts[c].multipliers.resize(cuts[c].variables.size());
    for (float& v : cuts[c].variables) {
      v = static_cast<float>(random.Uniform(-0.5, 0.5));
    }
    for (float& m : cuts[c].multipliers) {
      m += static_cast<float>(random.Uniform(-0.2, 0.2));
    }
  }
  std::vector<CutBatch> moved = cuts;
  staged.Parallel(batch, &moved);
  const std::vector<float> gradient = staged.gradient();

  // Differences along random directions: floats do not allow single elements.
  for (size_t c = 0; c < cuts.size(); ++c) {
    std::vector<CutBatch> above = cuts;
    std::vector<CutBatch> below = cuts;
    double along = 0;
    for (size_t i = 0; i < cuts[c].variables.size(); ++i) {
      const double direction = random.Uniform(-1, 1);
      above[c].variables[i] += static_cast<float>(kDifference * direction);
      below[c].variables[i] -= static_cast<float>(kDifference * direction);
      along += direction *
               (double{cuts[c].variables[i]} - moved[c].variables[i]) / kStep;
    }
    const double expected =
        (WholeLoss(batch, above, &staged) - WholeLoss(batch, below, &staged)) /
        (2 * kDifference);
    EXPECT_NEAR(along * extent * extent / expected, 1, 1e-3) << c;
  }
  for (const Stage& stage : SmoothStages(3)) {
    double along = 0;
    const std::vector<float> weights = staged.weights();
    std::vector<double> direction(weights.size());
    for (int64_t i = stage.begin; i < stage.end; ++i) {
      direction[i] = random.Uniform(-1, 1);
      along += direction[i] * gradient[i] * kExamples;
    }
    double expected = 0;
    for (const double sign : {1, -1}) {
      for (size_t i = 0; i < weights.size(); ++i) {
        staged.weights()[i] =
            static_cast<float>(weights[i] + sign * kDifference * direction[i]);
      }
      expected += sign * WholeLoss(batch, cuts, &staged) / (2 * kDifference);
    }
    staged.weights() = weights;
    EXPECT_NEAR(along / expected, 1, 1e-2) << stage.begin;
  }
}

INSTANTIATE_TEST_SUITE_P(Extents, StepsOfBlocks, testing::Values(1, 2));

TEST(ParallelStep, InnerStepsRepeatWithTheSameWeightsAndTheLastCounts) {
  Staged staged(SmoothStages(3), SmallImages(), 4,
                RandomWeights(SmoothStages(3)));
  const Batch batch = RandomImages(4, 5);
  staged.Serial(batch);
  std::vector<CutBatch> one_by_one = staged.Recorded();
  for (CutBatch& cut : one_by_one) {
    cut.step_size = 0.3;
    for (float& v : cut.variables) v += 0.1f;
  }
  std::vector<CutBatch> together = one_by_one;
  staged.Parallel(batch, &one_by_one);
  const double mismatch = one_by_one[0].mismatch;
  staged.Parallel(batch, &one_by_one);
  const std::vector<float> gradient = staged.gradient();
  staged.step().inner_steps = 2;
  staged.Parallel(batch, &together);
  EXPECT_EQ(staged.gradient(), gradient);
  EXPECT_EQ(together[0].variables, one_by_one[0].variables);
  EXPECT_EQ(together[1].multipliers, one_by_one[1].multipliers);
  EXPECT_EQ(together[0].mismatch, mismatch);
  EXPECT_NE(together[0].mismatch, one_by_one[0].mismatch);
}

// FP16 has no NaN of its own (compressors/value_codes/two_byte_formats.h).
TEST(ParallelStep, WireFormatHidesNoNan) {
  std::vector<float> values = {std::nanf(""), 1e6f, -1.0f / 3};
  RoundForWire(LayerParallelConfig::FP16, &values);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(values[1], 65504);
  EXPECT_NEAR(values[2], -1.0 / 3, 1e-4);
}

TEST(ParallelStep, WireFormatRoundsWhatIsSentAndNotWhatIsKept) {
  std::vector<float> values = {1.0f, 1.0f / 3, 1e-9f, 1e6f};
  RoundForWire(LayerParallelConfig::FP32, &values);
  EXPECT_EQ(values[1], 1.0f / 3);
  RoundForWire(LayerParallelConfig::FP16, &values);
  EXPECT_EQ(values[0], 1.0f);
  EXPECT_NEAR(values[1], 1.0 / 3, 2e-4);
  EXPECT_NE(values[1], 1.0f / 3);
  EXPECT_EQ(values[2], 0.0f);
  EXPECT_EQ(values[3], 65504.0f);
  EXPECT_EQ(WireBytes(LayerParallelConfig::FP16), 2);

  Staged staged(SmoothStages(2), SmallImages(), 4,
                RandomWeights(SmoothStages(2)));
  const Batch batch = RandomImages(4, 5);
  staged.Serial(batch);
  std::vector<CutBatch> cuts = staged.Recorded();
  const std::vector<CutBatch> before = cuts;
  staged.step().cuts[0].wire = LayerParallelConfig::FP16;
  staged.Parallel(batch, &cuts);  // A step of 0.
  EXPECT_EQ(cuts[0].variables, before[0].variables);
}

}  // namespace
}  // namespace ps
