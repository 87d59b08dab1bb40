// The state of optimizers: its size, and that it is complete.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "optimizers/optimizer.h"
#include "tests/optimizers/optimizer_harness.h"

namespace ps {
namespace {

constexpr int64_t kElements = 57;

std::vector<TensorStretch> Stretches() { return WholeTensors({30, 7, 20}); }

TEST(OptimizerStateTest, IsAsLargeAsDocumented) {
  using Arrays = std::vector<std::pair<std::string, size_t>>;
  const std::map<std::string, Arrays> expected = {
      {"sgd", {}},
      {"momentum", {{"momentum", kElements}}},
      {"nesterov", {{"momentum", kElements}}},
      {"adam", {{"first_moment", kElements}, {"second_moment", kElements}}},
      {"adamw", {{"first_moment", kElements}, {"second_moment", kElements}}},
      {"adagrad", {{"sum_of_squares", kElements}}},
      {"lars", {{"momentum", kElements}}},
      {"lamb", {{"first_moment", kElements}, {"second_moment", kElements}}},
      {"novograd", {{"first_moment", kElements}, {"second_moment", 3}}},
  };
  for (const std::string& name : OptimizerRegistry().Names()) {
    ASSERT_EQ(expected.count(name), 1u) << name;
    const auto rule =
        NewRule(OptimizerFrom("name: '" + name + "'"), Stretches());
    Arrays arrays;
    for (const auto& [array, values] : rule->State()) {
      arrays.emplace_back(std::string(array), values->size());
    }
    EXPECT_EQ(arrays, expected.at(name)) << name;
  }
}

TEST(OptimizerStateTest, WrittenIntoANewOptimizerContinuesBitForBit) {
  const Trajectory trajectory = RandomTrajectory(kElements, 9, /*seed=*/31);
  for (OptimizerConfig config : RuleVariants()) {
    config.set_weight_decay(0.01);
    const std::vector<float> expected =
        WeightsAfter(config, Stretches(), trajectory);
    for (int stop = 0; stop <= 8; stop += 4) {
      std::vector<float> weights = trajectory.weights;
      auto optimizer = NewRule(config, Stretches());
      for (int t = 0; t < 9; ++t) {
        if (t == stop) {
          auto restored = NewRule(config, Stretches());
          const auto saved = optimizer->State();
          const auto target = restored->State();
          ASSERT_EQ(saved.size(), target.size());
          for (size_t i = 0; i < saved.size(); ++i) {
            EXPECT_EQ(saved[i].first, target[i].first);
            *target[i].second = *saved[i].second;
          }
          optimizer = std::move(restored);
        }
        WholeStep(UpdateOf(t), trajectory.gradients[t], optimizer.get(),
                  &weights);
      }
      EXPECT_EQ(weights, expected) << TextOf(config) << ", stop at " << stop;
    }
  }
}

// Otherwise the test above would also pass for a state that is not needed.
TEST(OptimizerStateTest, WithoutAnArrayTheRunGoesElsewhere) {
  const Trajectory trajectory = RandomTrajectory(kElements, 6, /*seed=*/32);
  for (const OptimizerConfig& config : RuleVariants()) {
    const size_t num_arrays = NewRule(config, {})->State().size();
    const std::vector<float> expected =
        WeightsAfter(config, Stretches(), trajectory);
    // With beta 0 a moment keeps nothing, so losing it has no effect.
    const bool forgets[] = {config.has_beta1() && config.beta1() == 0,
                            config.has_beta2() && config.beta2() == 0};
    for (size_t lost = 0; lost < num_arrays; ++lost) {
      if (forgets[lost]) continue;
      const auto optimizer = NewRule(config, Stretches());
      std::vector<float> weights = trajectory.weights;
      for (int t = 0; t < 6; ++t) {
        if (t == 4) {
          std::vector<float>* const array = optimizer->State()[lost].second;
          array->assign(array->size(), 0.0f);
        }
        WholeStep(UpdateOf(t), trajectory.gradients[t], optimizer.get(),
                  &weights);
      }
      EXPECT_NE(weights, expected) << TextOf(config) << ", array " << lost;
    }
  }
}

}  // namespace
}  // namespace ps
