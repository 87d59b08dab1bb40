// Every update rule against its definition in double precision.
#include "server/optimizers/optimizer.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

constexpr int kElements = 257;
constexpr int kUpdates = 12;
constexpr double kRelative = 2e-5;
constexpr double kAbsolute = 2e-6;

OptimizerConfig Config(const std::string& name, double weight_decay) {
  OptimizerConfig config;
  config.set_name(name);
  config.set_momentum(0.9);
  config.set_weight_decay(weight_decay);
  return config;
}

// A rate that changes, so that a rule which keeps old rates in its buffer would
// be found out.
double RateOf(int update) { return 0.1 / (1 + update % 3); }

// The weights after kUpdates, from the definition unrolled: with d_k the
// decayed gradient of update k and momentum m, the buffer at update t is
// sum over k <= t of m^(t - k) d_k.
std::vector<double> Reference(const OptimizerConfig& config,
                              const std::vector<std::vector<float>>& gradients,
                              const std::vector<float>& start) {
  std::vector<double> result;
  for (size_t i = 0; i < start.size(); ++i) {
    double w = start[i];
    std::vector<double> decayed;
    for (size_t t = 0; t < gradients.size(); ++t) {
      const double d = gradients[t][i] + config.weight_decay() * w;
      decayed.push_back(d);
      double buffer = 0;
      for (size_t k = 0; k <= t; ++k) {
        buffer += std::pow(config.momentum(), t - k) * decayed[k];
      }
      double step = d;
      if (config.name() == "momentum") step = buffer;
      if (config.name() == "nesterov") step = d + config.momentum() * buffer;
      w -= RateOf(static_cast<int>(t)) * step;
    }
    result.push_back(w);
  }
  return result;
}

class OptimizerTest : public ::testing::TestWithParam<std::string> {};

TEST_P(OptimizerTest, EqualsItsDefinitionInDoublePrecision) {
  for (const double weight_decay : {0.0, 0.01, 0.3}) {
    const uint64_t seed = 5;
    SCOPED_TRACE(testing::Message()
                 << "seed " << seed << ", weight decay " << weight_decay);
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> start(kElements);
    for (float& w : start) w = normal(random);
    std::vector<std::vector<float>> gradients(kUpdates);
    for (auto& gradient : gradients) {
      gradient.resize(kElements);
      for (float& g : gradient) g = normal(random);
    }
    const OptimizerConfig config = Config(GetParam(), weight_decay);
    auto optimizer = NewOptimizer(config, kElements);
    ASSERT_TRUE(optimizer.ok()) << optimizer.status();
    std::vector<float> weights = start;
    for (int t = 0; t < kUpdates; ++t) {
      (*optimizer)->Step(RateOf(t), gradients[t].data(), weights.data());
    }
    const std::vector<double> expected = Reference(config, gradients, start);
    for (int i = 0; i < kElements; ++i) {
      EXPECT_NEAR(weights[i], expected[i],
                  kAbsolute + kRelative * std::fabs(expected[i]))
          << "element " << i;
    }
  }
}

TEST_P(OptimizerTest, RestoredStateContinuesAsIfNeverStopped) {
  const OptimizerConfig config = Config(GetParam(), 0.01);
  const std::vector<float> gradients[] = {{1, -2, 3}, {0.5, 0, -1}, {2, 2, 2}};
  auto undisturbed = *NewOptimizer(config, 3);
  std::vector<float> expected = {1, 2, 3};
  for (const auto& gradient : gradients) {
    undisturbed->Step(0.1, gradient.data(), expected.data());
  }
  auto before = *NewOptimizer(config, 3);
  std::vector<float> weights = {1, 2, 3};
  before->Step(0.1, gradients[0].data(), weights.data());
  auto after = *NewOptimizer(config, 3);
  const auto saved = before->State();
  const auto restored = after->State();
  ASSERT_EQ(saved.size(), restored.size());
  for (size_t i = 0; i < saved.size(); ++i) {
    EXPECT_EQ(saved[i].first, restored[i].first);
    *restored[i].second = *saved[i].second;
  }
  after->Step(0.1, gradients[1].data(), weights.data());
  after->Step(0.1, gradients[2].data(), weights.data());
  EXPECT_EQ(weights, expected);
}

INSTANTIATE_TEST_SUITE_P(AllRules, OptimizerTest,
                         ::testing::ValuesIn(OptimizerRegistry().Names()),
                         [](const auto& info) { return info.param; });

// Three updates worked by hand; the same numbers come out of PyTorch's SGD.
TEST(NesterovTest, ThreeWorkedUpdates) {
  auto optimizer = *NewOptimizer(Config("nesterov", 0), 2);
  std::vector<float> weights = {3, 4};
  const struct {
    std::vector<float> gradient;
    std::vector<double> expected;
  } updates[] = {
      {{6, 8}, {1.86, 2.48}},
      {{0, 5}, {1.374, 0.882}},
      {{-3, 4}, {1.5066, -0.8662}},
  };
  for (const auto& update : updates) {
    optimizer->Step(0.1, update.gradient.data(), weights.data());
    EXPECT_NEAR(weights[0], update.expected[0], 2e-6);
    EXPECT_NEAR(weights[1], update.expected[1], 2e-6);
  }
}

TEST(OptimizerTest, AnEmptySliceHasNothingToUpdate) {
  for (const std::string& name : OptimizerRegistry().Names()) {
    auto optimizer = *NewOptimizer(Config(name, 0), 0);
    optimizer->Step(0.1, nullptr, nullptr);
    for (const auto& state : optimizer->State()) {
      EXPECT_TRUE(state.second->empty());
    }
  }
}

TEST(OptimizerTest, AnUnknownNameListsTheKnownOnes) {
  const absl::Status status = NewOptimizer(Config("adamw", 0), 3).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("known are: momentum, nesterov, sgd"));
}

TEST(OptimizerTest, ConfigChecksNameTheFieldAndTheRule) {
  const struct {
    std::string assignment;
    std::string problem;
  } cases[] = {
      {"optimizer.name=sdg",
       "optimizer.name is \"sdg\"; there is no optimizer"},
      {"optimizer.learning_rate=0", "optimizer.learning_rate is 0; must be"},
      {"optimizer.learning_rate=-1", "optimizer.learning_rate is -1; must be"},
      {"optimizer.learning_rate=inf", "optimizer.learning_rate is inf; must"},
      {"optimizer.learning_rate=nan", "optimizer.learning_rate is nan; must"},
      {"optimizer.momentum=1", "optimizer.momentum is 1; must be in (0, 1)"},
      {"optimizer.momentum=0", "optimizer.momentum is 0; must be in (0, 1)"},
      {"optimizer.momentum=nan", "optimizer.momentum is nan; must be in"},
      {"optimizer.weight_decay=-0.1", "optimizer.weight_decay is -0.1; must"},
      {"optimizer.weight_decay=inf", "optimizer.weight_decay is inf; must"},
  };
  ASSERT_TRUE(ValidateConfig(JobConfig()).ok());
  for (const auto& c : cases) {
    JobConfig config;
    ASSERT_TRUE(ApplyOverride(c.assignment, &config).ok());
    const absl::Status status = ValidateConfig(config);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << c.assignment;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.problem));
  }
}

}  // namespace
}  // namespace ps
