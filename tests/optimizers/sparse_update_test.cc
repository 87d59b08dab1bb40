// Updates of only some elements. Tests the table in docs/optimizers.md of the
// cases in which they equal updates of all elements with gradients that are 0
// elsewhere.
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "optimizers/optimizer.h"
#include "tests/optimizers/optimizer_harness.h"

namespace ps {
namespace {

constexpr int64_t kElements = 203;
constexpr int kUpdates = 10;
constexpr uint64_t kSeed = 11;

struct SparseGradient {
  std::vector<uint32_t> indices;  // Ascending.
  std::vector<float> values;
};

SparseGradient Sparse(const std::vector<float>& dense,
                      const std::vector<uint32_t>& indices) {
  SparseGradient gradient;
  gradient.indices = indices;
  for (const uint32_t i : indices) gradient.values.push_back(dense[i]);
  return gradient;
}

std::vector<float> Dense(const SparseGradient& gradient) {
  std::vector<float> dense(kElements);
  for (size_t k = 0; k < gradient.indices.size(); ++k) {
    dense[gradient.indices[k]] = gradient.values[k];
  }
  return dense;
}

// About one element in `one_in` of each gradient; a different selection for
// each.
std::vector<SparseGradient> SomeOf(const Trajectory& trajectory, int one_in) {
  std::mt19937_64 random(kSeed + 1);
  std::vector<SparseGradient> gradients;
  for (const std::vector<float>& dense : trajectory.gradients) {
    std::vector<uint32_t> indices;
    for (uint32_t i = 0; i < kElements; ++i) {
      if (random() % one_in == 0) indices.push_back(i);
    }
    gradients.push_back(Sparse(dense, indices));
  }
  return gradients;
}

std::vector<OptimizerConfig> ElementWiseVariants(double weight_decay) {
  std::vector<OptimizerConfig> variants;
  for (OptimizerConfig config : RuleVariants()) {
    config.set_weight_decay(weight_decay);
    // Lazy updates are refused for layer-wise rules and with dampening.
    if (NewRule(config, {})->layer_wise() || config.dampening() != 0) continue;
    variants.push_back(config);
  }
  return variants;
}

// Weights and state after lazy or dense updates with the same gradients.
struct Outcome {
  std::vector<float> weights;
  std::vector<std::vector<float>> state;
};

Outcome After(const OptimizerConfig& config, const Trajectory& trajectory,
              const std::vector<SparseGradient>& gradients, bool lazy) {
  const auto optimizer = NewRule(config, WholeTensors({kElements}));
  Outcome outcome;
  outcome.weights = trajectory.weights;
  for (int t = 0; t < kUpdates; ++t) {
    const SparseGradient& gradient = gradients[t];
    if (lazy) {
      optimizer->StepTouched(UpdateOf(t), gradient.indices,
                             gradient.values.data(), outcome.weights.data());
    } else {
      WholeStep(UpdateOf(t), Dense(gradient), optimizer.get(),
                &outcome.weights);
    }
  }
  outcome.state = StateOf(optimizer.get());
  return outcome;
}

TEST(SparseUpdateTest, AllTouchedEqualsDenseBitForBit) {
  const Trajectory trajectory = RandomTrajectory(kElements, kUpdates, kSeed);
  const auto all = SomeOf(trajectory, 1);
  ASSERT_EQ(all[0].indices.size(), static_cast<size_t>(kElements));
  for (const double weight_decay : {0.0, 0.1}) {
    for (const OptimizerConfig& config : ElementWiseVariants(weight_decay)) {
      const Outcome lazy = After(config, trajectory, all, true);
      const Outcome dense = After(config, trajectory, all, false);
      EXPECT_EQ(lazy.weights, dense.weights) << TextOf(config);
      EXPECT_EQ(lazy.state, dense.state) << TextOf(config);
    }
  }
}

TEST(SparseUpdateTest, LazyEqualsDenseWhereTheTableSaysSo) {
  const Trajectory trajectory = RandomTrajectory(kElements, kUpdates, kSeed);
  const auto some = SomeOf(trajectory, 4);
  for (const double weight_decay : {0.0, 0.1}) {
    for (const OptimizerConfig& config : ElementWiseVariants(weight_decay)) {
      const bool equal = weight_decay == 0 &&
                         (config.name() == "sgd" || config.name() == "adagrad");
      const Outcome lazy = After(config, trajectory, some, true);
      const Outcome dense = After(config, trajectory, some, false);
      EXPECT_EQ(lazy.weights == dense.weights, equal) << TextOf(config);
      if (equal) {
        EXPECT_EQ(lazy.state, dense.state) << TextOf(config);
      }
      EXPECT_EQ(NewRule(config, {})->skips_zeros(), equal) << TextOf(config);
    }
  }
}

TEST(SparseUpdateTest, LayerWiseRulesSkipNoZeros) {
  for (const OptimizerConfig& config : RuleVariants()) {
    const auto rule = NewRule(config, {});
    if (rule->layer_wise()) {
      EXPECT_FALSE(rule->skips_zeros()) << TextOf(config);
    }
  }
}

TEST(SparseUpdateTest, UntouchedElementsKeepTheirBits) {
  const Trajectory trajectory = RandomTrajectory(kElements, kUpdates, kSeed);
  for (const OptimizerConfig& config : ElementWiseVariants(0.1)) {
    SCOPED_TRACE(TextOf(config));
    const auto optimizer = NewRule(config, WholeTensors({kElements}));
    std::vector<float> weights = trajectory.weights;
    // The first update makes all state non-zero.
    WholeStep(UpdateOf(0), trajectory.gradients[0], optimizer.get(), &weights);
    const auto gradients = SomeOf(trajectory, 4);
    for (int t = 1; t < kUpdates; ++t) {
      std::vector<std::vector<float>> before = StateOf(optimizer.get());
      before.push_back(weights);
      optimizer->StepTouched(UpdateOf(t), gradients[t].indices,
                             gradients[t].values.data(), weights.data());
      std::vector<std::vector<float>> after = StateOf(optimizer.get());
      after.push_back(weights);
      std::vector<bool> touched(kElements);
      for (const uint32_t i : gradients[t].indices) touched[i] = true;
      int changed = 0;
      for (size_t array = 0; array < before.size(); ++array) {
        for (int64_t i = 0; i < kElements; ++i) {
          const bool same = before[array][i] == after[array][i];
          if (!touched[i]) {
            ASSERT_TRUE(same) << "element " << i;
          }
          changed += same ? 0 : 1;
        }
      }
      EXPECT_GT(changed, static_cast<int>(gradients[t].indices.size()) / 2);
    }
  }
}

// The bias correction counts the tensor's updates, not the element's, as in
// TensorFlow's LazyAdam and PyTorch's SparseAdam.
TEST(SparseUpdateTest, AnElementTouchedLateHasTheTensorsBiasCorrection) {
  const auto adam =
      NewRule(OptimizerFrom("name: 'adam'"), WholeTensors({kElements}));
  std::vector<float> weights(kElements, 1.0f);
  const std::vector<uint32_t> first = {3};
  const std::vector<uint32_t> late = {7};
  const float gradient = 0.5f;
  UpdateInfo update;
  update.learning_rate = 0.01;
  for (int t = 0; t < 4; ++t) {
    update.update = t;
    adam->StepTouched(update, first, &gradient, weights.data());
  }
  update.update = 4;
  adam->StepTouched(update, late, &gradient, weights.data());
  const double m = 0.1 * 0.5 / (1 - std::pow(0.9, 5));
  const double v = 0.001 * 0.25 / (1 - std::pow(0.999, 5));
  EXPECT_NEAR(weights[7], 1 - 0.01 * m / (std::sqrt(v) + 1e-8), 1e-6);
  EXPECT_GT(std::fabs(1 - weights[7] - 0.01), 1e-3) << "that of update 0";
}

}  // namespace
}  // namespace ps
