// Compares every update rule with its definition in double precision, and tests
// properties of all rules.
#include "optimizers/optimizer.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/optimizers/optimizer_harness.h"
#include "tests/optimizers/optimizer_reference.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

constexpr double kRelative = 2e-5;
constexpr double kAbsolute = 2e-6;
constexpr int kUpdates = 12;
constexpr uint64_t kSeed = 5;

// Some tensors with adaptation and some without.
const std::vector<int64_t>& Sizes() {
  static const auto* const sizes = new std::vector<int64_t>{70, 7, 33, 1, 146};
  return *sizes;
}
constexpr int64_t kElements = 257;

TEST(OptimizerTest, EveryRuleEqualsItsDefinitionInDoublePrecision) {
  const Trajectory trajectory = RandomTrajectory(kElements, kUpdates, kSeed);
  const std::vector<TensorStretch> stretches = WholeTensors(Sizes());
  for (OptimizerConfig config : RuleVariants()) {
    for (const double weight_decay : {-1.0, 0.0, 0.01, 0.3}) {
      config.clear_weight_decay();
      if (weight_decay >= 0) config.set_weight_decay(weight_decay);
      SCOPED_TRACE(testing::Message() << TextOf(config) << ", seed " << kSeed);
      const std::vector<float> weights =
          WeightsAfter(config, stretches, trajectory);
      const std::vector<double> expected =
          ReferenceWeights(config, stretches, trajectory);
      ASSERT_EQ(expected.size(), weights.size());
      for (int64_t i = 0; i < kElements; ++i) {
        ASSERT_NEAR(weights[i], expected[i],
                    kAbsolute + kRelative * std::fabs(expected[i]))
            << "element " << i;
      }
    }
  }
}

// The rules' options must have an effect; otherwise the test above would
// compare the same computation repeatedly.
TEST(OptimizerTest, NoTwoVariantsGiveTheSameWeights) {
  const Trajectory trajectory = RandomTrajectory(kElements, kUpdates, kSeed);
  std::vector<std::vector<float>> seen;
  for (OptimizerConfig config : RuleVariants()) {
    config.set_weight_decay(0.01);
    seen.push_back(WeightsAfter(config, WholeTensors(Sizes()), trajectory));
    for (size_t other = 0; other + 1 < seen.size(); ++other) {
      EXPECT_NE(seen[other], seen.back())
          << TextOf(config) << " and variant " << other;
    }
  }
}

// Pieces are not in order of position, and some end in the middle of a tensor.
TEST(OptimizerTest, PiecesInAnyOrderGiveTheBitsOfTheWhole) {
  const Trajectory trajectory = RandomTrajectory(kElements, kUpdates, kSeed);
  const std::vector<TensorStretch> stretches = WholeTensors(Sizes());
  const std::vector<int64_t> cuts = {0, 1, 50, 70, 75, 76, 200, kElements};
  for (const OptimizerConfig& config : RuleVariants()) {
    SCOPED_TRACE(TextOf(config));
    const auto whole = NewRule(config, stretches);
    const auto pieces = NewRule(config, stretches);
    std::vector<float> expected = trajectory.weights;
    std::vector<float> weights = trajectory.weights;
    for (int t = 0; t < kUpdates; ++t) {
      const UpdateInfo update = UpdateOf(t);
      const std::vector<float>& gradient = trajectory.gradients[t];
      WholeStep(update, gradient, whole.get(), &expected);
      if (pieces->layer_wise()) {
        pieces->SetTotals(update, pieces->PartialSquares(
                                      update, gradient.data(), weights.data()));
      }
      for (size_t k = cuts.size() - 1; k > 0; --k) {
        pieces->Step(update, cuts[k - 1], cuts[k],
                     gradient.data() + cuts[k - 1],
                     weights.data() + cuts[k - 1]);
      }
    }
    EXPECT_EQ(weights, expected);
    EXPECT_EQ(StateOf(pieces.get()), StateOf(whole.get()));
  }
}

TEST(OptimizerTest, GradientScaleIsAGradientThatWasMultipliedBefore) {
  Trajectory trajectory = RandomTrajectory(kElements, kUpdates, kSeed);
  const std::vector<TensorStretch> stretches = WholeTensors(Sizes());
  for (const float scale : {0.25f, 0.3f, 1.0f}) {
    for (const OptimizerConfig& config : RuleVariants()) {
      const auto scaling = NewRule(config, stretches);
      const auto scaled = NewRule(config, stretches);
      std::vector<float> weights = trajectory.weights;
      std::vector<float> expected = trajectory.weights;
      for (int t = 0; t < kUpdates; ++t) {
        UpdateInfo update = UpdateOf(t);
        std::vector<float> gradient = trajectory.gradients[t];
        update.gradient_scale = scale;
        WholeStep(update, gradient, scaling.get(), &weights);
        for (float& g : gradient) g *= scale;
        WholeStep(UpdateOf(t), gradient, scaled.get(), &expected);
      }
      EXPECT_EQ(weights, expected) << TextOf(config) << ", scale " << scale;
    }
  }
}

// With epsilon 0 the rules must not divide 0 by 0.
TEST(OptimizerTest, GradientsOfZeroChangeNothingAtTheStart) {
  const std::vector<TensorStretch> stretches = WholeTensors(Sizes());
  const std::vector<float> zeros(kElements);
  const std::vector<std::vector<float>> starts = {
      RandomTrajectory(kElements, 0, kSeed).weights, zeros};
  for (OptimizerConfig config : RuleVariants()) {
    config.set_weight_decay(0);
    for (const bool no_epsilon : {false, true}) {
      if (no_epsilon) config.set_epsilon(0);
      for (const std::vector<float>& start : starts) {
        const auto optimizer = NewRule(config, stretches);
        const auto state = StateOf(optimizer.get());
        std::vector<float> weights = start;
        for (int t = 0; t < 3; ++t) {
          WholeStep(UpdateOf(t), zeros, optimizer.get(), &weights);
        }
        EXPECT_EQ(weights, start) << TextOf(config);
        EXPECT_EQ(StateOf(optimizer.get()), state) << TextOf(config);
      }
    }
  }
}

// A zero tensor with a gradient, and a non-zero tensor without one, both get a
// plain step.
TEST(OptimizerTest, WithoutANormToCompareTheRateIsThePlainOne) {
  const std::vector<TensorStretch> stretches = WholeTensors({20});
  UpdateInfo update;
  update.learning_rate = 0.5;
  const auto lars = NewRule(OptimizerFrom("name: 'lars' weight_decay: 0.5 "
                                          "clip_learning_rate: true"),
                            stretches);
  std::vector<float> weights(20, 0.0f);
  WholeStep(update, std::vector<float>(20, 4.0f), lars.get(), &weights);
  EXPECT_EQ(weights, std::vector<float>(20, -2.0f));
  const auto other =
      NewRule(OptimizerFrom("name: 'lars' weight_decay: 0.5"), stretches);
  weights.assign(20, 4.0f);
  WholeStep(update, std::vector<float>(20, 0.0f), other.get(), &weights);
  EXPECT_EQ(weights, std::vector<float>(20, 3.0f));
  const auto lamb = NewRule(
      OptimizerFrom("name: 'lamb' weight_decay: 0.5 epsilon: 0"), stretches);
  weights.assign(20, 0.0f);
  WholeStep(update, std::vector<float>(20, 4.0f), lamb.get(), &weights);
  for (const float w : weights) EXPECT_NEAR(w, -0.5, 1e-6);
}

TEST(OptimizerTest, ARateOfZeroIsAnUpdateThatMovesNothing) {
  const Trajectory trajectory = RandomTrajectory(kElements, 2, kSeed);
  for (OptimizerConfig config : RuleVariants()) {
    const auto optimizer = NewRule(config, WholeTensors(Sizes()));
    std::vector<float> weights = trajectory.weights;
    UpdateInfo update;
    update.learning_rate = 0;
    WholeStep(update, trajectory.gradients[0], optimizer.get(), &weights);
    EXPECT_EQ(weights, trajectory.weights) << TextOf(config);
  }
}

TEST(OptimizerTest, ASliceWithoutElementsIsUpdated) {
  for (const OptimizerConfig& config : RuleVariants()) {
    const auto optimizer = NewRule(config, {});
    std::vector<float> nothing;
    WholeStep(UpdateOf(0), nothing, optimizer.get(), &nothing);
    EXPECT_EQ(nothing.size(), 0u);
    if (!optimizer->layer_wise()) {
      optimizer->StepTouched(UpdateOf(1), {}, nullptr, nullptr);
    }
  }
}

TEST(OptimizerTest, LayerWiseRulesNeedToKnowWhereTensorsLie) {
  for (const std::string& name : OptimizerRegistry().Names()) {
    OptimizerOptions options =
        OptionsOf(OptimizerFrom("name: '" + name + "'"), WholeTensors({20}));
    const bool layer_wise = (*NewOptimizer(options))->layer_wise();
    EXPECT_EQ(layer_wise,
              name == "lars" || name == "lamb" || name == "novograd");
    options.num_elements = 21;
    const absl::Status one_too_few = NewOptimizer(options).status();
    options.num_elements = 20;
    options.stretches[0] = {0, 25, 5, true};
    const absl::Status backwards = NewOptimizer(options).status();
    if (!layer_wise) {
      EXPECT_TRUE(one_too_few.ok()) << one_too_few;
      continue;
    }
    EXPECT_TRUE(absl::IsInvalidArgument(one_too_few)) << one_too_few;
    EXPECT_THAT(std::string(one_too_few.message()),
                HasSubstr("of a slice of 21 elements have 20"));
    EXPECT_TRUE(absl::IsInvalidArgument(backwards)) << backwards;
    EXPECT_THAT(std::string(backwards.message()), HasSubstr("[25, 5)"));
  }
}

TEST(OptimizerTest, AnUnknownNameListsTheKnownOnes) {
  const absl::Status status =
      NewOptimizer(OptionsOf(OptimizerFrom("name: 'sdg'"), {})).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("known are: " +
                        absl::StrJoin(OptimizerRegistry().Names(), ", ")));
}

}  // namespace
}  // namespace ps
