// Compares the schedules with PyTorch's definitions: closed forms derived by
// hand, and PyTorch's recurrences.
#include "common/schedule.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

constexpr double kBase = 0.4;

OptimizerConfig Optimizer() {
  OptimizerConfig config;
  config.set_learning_rate(kBase);
  return config;
}

ScheduleConfig Schedule(const std::string& name) {
  ScheduleConfig config;
  config.set_name(name);
  return config;
}

double Rate(const ScheduleConfig& schedule, int64_t update,
            int64_t total_updates = 1000) {
  return LearningRate(Optimizer(), schedule, total_updates, update);
}

TEST(ScheduleTest, ConstantIsTheBaseRate) {
  for (const int64_t update : {0, 1, 999, 1000, 123456789}) {
    EXPECT_EQ(Rate(Schedule("constant"), update), kBase);
  }
}

// torch.optim.lr_scheduler.StepLR(step_size=3, gamma=0.5).
TEST(ScheduleTest, StepWithAPeriodIsStepLR) {
  ScheduleConfig schedule = Schedule("step");
  schedule.set_period(3);
  schedule.set_gamma(0.5);
  const double expected[] = {0.4, 0.4, 0.4, 0.2, 0.2, 0.2, 0.1, 0.1, 0.1, 0.05};
  for (int update = 0; update < 10; ++update) {
    EXPECT_DOUBLE_EQ(Rate(schedule, update), expected[update]) << update;
  }
}

// torch.optim.lr_scheduler.MultiStepLR(milestones=[2, 5, 6], gamma=0.1).
TEST(ScheduleTest, StepWithMilestonesIsMultiStepLR) {
  ScheduleConfig schedule = Schedule("step");
  for (const int64_t milestone : {2, 5, 6}) schedule.add_milestones(milestone);
  schedule.set_period(1);  // Milestones take precedence.
  const double expected[] = {0.4, 0.4, 0.04, 0.04, 0.04, 0.004, 0.0004, 0.0004};
  for (int update = 0; update < 8; ++update) {
    EXPECT_NEAR(Rate(schedule, update), expected[update], 1e-15) << update;
  }
}

// CosineAnnealingLR(T_max=4): base (1 + cos(pi t / 4)) / 2.
TEST(ScheduleTest, CosineHasItsClosedForm) {
  ScheduleConfig schedule = Schedule("cosine");
  schedule.set_total_updates(4);
  const double expected[] = {0.4, 0.34142135623730951, 0.2,
                             0.058578643762690494, 0};
  for (int update = 0; update <= 4; ++update) {
    EXPECT_NEAR(Rate(schedule, update), expected[update], 1e-15) << update;
  }
}

// CosineAnnealingLR(T_max=200, eta_min=0.01) as PyTorch computes it:
// eta[t + 1] - min = (eta[t] - min) (1 + cos(pi (t + 1) / T))
//                                 / (1 + cos(pi t / T)).
TEST(ScheduleTest, CosineFollowsPyTorchsRecurrence) {
  ScheduleConfig schedule = Schedule("cosine");
  schedule.set_total_updates(200);
  schedule.set_end_learning_rate(0.01);
  const double pi = std::acos(-1.0);
  double rate = kBase;
  for (int t = 0; t < 199; ++t) {
    EXPECT_NEAR(Rate(schedule, t), rate, 1e-12) << t;
    rate = 0.01 + (rate - 0.01) * (1 + std::cos(pi * (t + 1) / 200)) /
                      (1 + std::cos(pi * t / 200));
  }
  EXPECT_DOUBLE_EQ(Rate(schedule, 200), 0.01);
}

TEST(ScheduleTest, ItStaysAtItsEnd) {
  for (const std::string name : {"cosine", "polynomial"}) {
    ScheduleConfig schedule = Schedule(name);
    schedule.set_total_updates(10);
    schedule.set_end_learning_rate(0.05);
    for (const int64_t update : {10, 11, 100, 1000000}) {
      EXPECT_DOUBLE_EQ(Rate(schedule, update), 0.05) << name;
    }
  }
}

// PolynomialLR(total_iters=4, power=2): base (1 - t / 4)^2.
TEST(ScheduleTest, PolynomialHasItsClosedForm) {
  ScheduleConfig schedule = Schedule("polynomial");
  schedule.set_total_updates(4);
  const double line[] = {0.4, 0.3, 0.2, 0.1, 0, 0, 0};
  for (int update = 0; update < 7; ++update) {
    EXPECT_NEAR(Rate(schedule, update), line[update], 1e-15) << update;
  }
  schedule.set_power(2);
  const double square[] = {0.4, 0.225, 0.1, 0.025, 0, 0, 0};
  for (int update = 0; update < 7; ++update) {
    EXPECT_NEAR(Rate(schedule, update), square[update], 1e-15) << update;
  }
  schedule.set_power(0.5);
  schedule.set_end_learning_rate(0.2);
  const double root[] = {0.4, 0.37320508075688772, 0.34142135623730951, 0.3,
                         0.2};
  for (int update = 0; update <= 4; ++update) {
    EXPECT_NEAR(Rate(schedule, update), root[update], 1e-15) << update;
  }
}

// PolynomialLR as PyTorch computes it:
// eta[t + 1] = eta[t] ((1 - (t + 1) / T) / (1 - t / T))^power.
TEST(ScheduleTest, PolynomialFollowsPyTorchsRecurrence) {
  ScheduleConfig schedule = Schedule("polynomial");
  schedule.set_total_updates(150);
  schedule.set_power(1.7);
  double rate = kBase;
  for (int t = 0; t < 150; ++t) {
    EXPECT_NEAR(Rate(schedule, t), rate, 1e-13) << t;
    rate *= std::pow((1 - (t + 1) / 150.0) / (1 - t / 150.0), 1.7);
  }
  EXPECT_EQ(Rate(schedule, 150), 0);
}

TEST(ScheduleTest, WithoutALengthItIsTheJobs) {
  for (const std::string name : {"cosine", "polynomial"}) {
    ScheduleConfig own = Schedule(name);
    own.set_total_updates(77);
    for (int update = 0; update < 90; ++update) {
      EXPECT_EQ(Rate(Schedule(name), update, /*total_updates=*/77),
                Rate(own, update, /*total_updates=*/5))
          << name;
    }
  }
}

// LinearLR(start_factor=1/W, total_iters=W-1):
// base (1/W + (1 - 1/W) t / (W - 1)).
TEST(ScheduleTest, WarmUpIsLinearLR) {
  for (const std::string name : {"constant", "step", "cosine", "polynomial"}) {
    ScheduleConfig schedule = Schedule(name);
    schedule.set_warmup_updates(5);
    schedule.set_period(100);
    for (int t = 0; t < 5; ++t) {
      EXPECT_DOUBLE_EQ(Rate(schedule, t),
                       kBase * (1.0 / 5 + (1 - 1.0 / 5) * t / 4))
          << name << " at " << t;
    }
    EXPECT_GT(Rate(schedule, 0), 0);
    EXPECT_DOUBLE_EQ(Rate(schedule, 4), kBase);
    EXPECT_DOUBLE_EQ(Rate(schedule, 5), kBase);
  }
}

TEST(ScheduleTest, ItFallsFromTheEndOfTheWarmUp) {
  for (const std::string name : {"cosine", "polynomial"}) {
    ScheduleConfig schedule = Schedule(name);
    schedule.set_warmup_updates(10);
    schedule.set_total_updates(30);
    EXPECT_DOUBLE_EQ(Rate(schedule, 10), kBase) << name;
    EXPECT_DOUBLE_EQ(Rate(schedule, 20), kBase / 2) << name;
    EXPECT_NEAR(Rate(schedule, 30), 0, 1e-15) << name;
  }
}

TEST(ScheduleTest, AWarmUpLongerThanTheJobLeavesFiniteRates) {
  for (const std::string name : {"cosine", "polynomial"}) {
    ScheduleConfig schedule = Schedule(name);
    schedule.set_warmup_updates(50);
    schedule.set_total_updates(30);
    for (int update = 0; update < 60; ++update) {
      const double rate = Rate(schedule, update);
      EXPECT_TRUE(rate >= 0 && rate <= kBase) << update << ": " << rate;
    }
  }
}

TEST(ScheduleTest, MilestonesCountTheWarmUp) {
  ScheduleConfig schedule = Schedule("step");
  schedule.set_warmup_updates(4);
  schedule.add_milestones(6);
  EXPECT_DOUBLE_EQ(Rate(schedule, 5), kBase);
  EXPECT_NEAR(Rate(schedule, 6), kBase * 0.1, 1e-15);
}

TEST(ScheduleTest, ConfigChecksNameTheFieldAndTheRule) {
  const struct {
    std::vector<std::string> assignments;
    std::string problem;
  } cases[] = {
      {{"schedule.name=linear"}, "schedule.name is \"linear\"; must be one of"},
      {{"schedule.name=step"},
       "schedule.name is \"step\"; needs schedule.mile"},
      {{"schedule.warmup_updates=-1"}, "schedule.warmup_updates is -1; must"},
      {{"schedule.gamma=0"}, "schedule.gamma is 0; must be in (0, 1]"},
      {{"schedule.gamma=1.5"}, "schedule.gamma is 1.5; must be in (0, 1]"},
      {{"schedule.gamma=nan"}, "schedule.gamma is nan; must be in (0, 1]"},
      {{"schedule.period=-3"}, "schedule.period is -3; must be at least 0"},
      {{"schedule.milestones=5,5"}, "schedule.milestones[1] is 5; must be"},
      {{"schedule.milestones=-2"}, "schedule.milestones[0] is -2; must be"},
      {{"schedule.total_updates=-1"}, "schedule.total_updates is -1; must be"},
      {{"schedule.end_learning_rate=-1"}, "schedule.end_learning_rate is -1"},
      {{"schedule.end_learning_rate=inf"}, "schedule.end_learning_rate is inf"},
      {{"schedule.power=0"}, "schedule.power is 0; must be above 0"},
      {{"schedule.power=-2"}, "schedule.power is -2; must be above 0"},
      {{"schedule.power=inf"},
       "schedule.power is inf; must be finite and above 0"},
      {{"schedule.power=nan"},
       "schedule.power is nan; must be finite and above 0"},
  };
  for (const auto& c : cases) {
    JobConfig config;
    for (const std::string& assignment : c.assignments) {
      ASSERT_TRUE(ApplyOverride(assignment, &config).ok()) << assignment;
    }
    const absl::Status status = ValidateConfig(config);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << c.problem;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.problem));
  }
}

}  // namespace
}  // namespace ps
