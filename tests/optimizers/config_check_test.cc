// Which optimizer configs are refused, and which combinations with other
// fields.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optimizers/optimizer.h"
#include "optimizers/optimizer_defaults.h"
#include "optimizers/pushed_only.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

JobConfig JobOf(const std::vector<std::string>& assignments) {
  JobConfig job;
  for (const std::string& assignment : assignments) {
    const absl::Status status = ApplyOverride(assignment, &job);
    EXPECT_TRUE(status.ok()) << status;
  }
  return job;
}

std::string ProblemsOf(const std::vector<std::string>& assignments) {
  return std::string(ValidateConfig(JobOf(assignments)).message());
}

std::string NameIs(const std::string& name) {
  return absl::StrCat("optimizer.name=", name);
}

const std::vector<std::string>& AllNames() {
  static const auto* const names =
      new std::vector<std::string>(OptimizerRegistry().Names());
  return *names;
}

TEST(OptimizerConfigTest, EveryRuleIsValidWithItsDefaults) {
  for (const std::string& name : AllNames()) {
    EXPECT_EQ(ProblemsOf({NameIs(name)}), "") << name;
  }
}

TEST(OptimizerConfigTest, UnsetFieldsHaveTheRulesDefaults) {
  const struct {
    std::string name;
    double weight_decay, beta1, beta2, epsilon;
  } kDefaults[] = {
      {"adam", 0, 0.9, 0.999, 1e-8},     {"adamw", 0.01, 0.9, 0.999, 1e-8},
      {"lamb", 0.01, 0.9, 0.999, 1e-6},  {"novograd", 0, 0.95, 0.98, 1e-8},
      {"adagrad", 0, 0.9, 0.999, 1e-10}, {"lars", 0, 0.9, 0.999, 0}};
  for (const auto& defaults : kDefaults) {
    OptimizerConfig config;
    config.set_name(defaults.name);
    EXPECT_EQ(WeightDecay(config), defaults.weight_decay) << defaults.name;
    EXPECT_EQ(Beta1(config), defaults.beta1) << defaults.name;
    EXPECT_EQ(Beta2(config), defaults.beta2) << defaults.name;
    EXPECT_EQ(Epsilon(config), defaults.epsilon) << defaults.name;
    config.set_weight_decay(0);
    config.set_beta1(0);
    config.set_beta2(0);
    config.set_epsilon(0);
    EXPECT_EQ(
        WeightDecay(config) + Beta1(config) + Beta2(config) + Epsilon(config),
        0)
        << defaults.name;
  }
  EXPECT_EQ(WeightDecay(OptimizerConfig()), 0);
}

// "adamw" would lose its weight decay if the text wrote an unset field as 0.
TEST(OptimizerConfigTest, AResolvedJobHasTheSameDefaults) {
  JobConfig job = JobOf({"optimizer.name=adamw"});
  const auto resolved = ParseConfig(ResolvedConfigText(job), "resolved");
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  EXPECT_EQ(WeightDecay(resolved->optimizer()), 0.01);
  EXPECT_EQ(Epsilon(resolved->optimizer()), 1e-8);
}

TEST(OptimizerConfigTest, ARangeIsCheckedWhetherOrNotTheRuleReadsTheField) {
  const struct {
    std::string field;
    std::vector<std::string> refused;
    std::string rule;
  } kCases[] = {
      {"learning_rate", {"0", "-1", "inf", "nan"}, "above 0"},
      {"weight_decay", {"-0.1", "inf", "nan"}, "at least 0"},
      {"clip_norm", {"-1", "inf", "nan"}, "above 0, or 0 for no limit"},
      {"momentum", {"1", "-0.5", "nan"}, "must be in [0, 1)"},
      {"beta1", {"1", "-0.1", "nan"}, "must be in [0, 1)"},
      {"beta2", {"1", "-0.1", "nan"}, "must be in [0, 1)"},
      {"epsilon", {"-0.5", "inf", "nan"}, "at least 0"},
      {"dampening", {"1", "-0.1", "nan"}, "must be in [0, 1)"},
      {"initial_accumulator", {"-1", "inf", "nan"}, "at least 0"},
      {"learning_rate_decay", {"-1", "inf", "nan"}, "at least 0"},
      {"trust_coefficient", {"0", "-1", "inf", "nan"}, "above 0"},
      {"trust_clip", {"-1", "inf", "nan"}, "above 0, or 0 for no limit"},
  };
  for (const auto& c : kCases) {
    for (const std::string& value : c.refused) {
      for (const std::string& name : AllNames()) {
        const std::string path = absl::StrCat("optimizer.", c.field);
        const std::string problems =
            ProblemsOf({NameIs(name), absl::StrCat(path, "=", value)});
        EXPECT_THAT(problems,
                    HasSubstr(absl::StrCat(path, " is ", value, "; ")))
            << name;
        EXPECT_THAT(problems, HasSubstr(c.rule)) << name;
      }
    }
  }
}

TEST(OptimizerConfigTest, ARuleWithMomentumNeedsSome) {
  for (const std::string& name : AllNames()) {
    const std::string problems =
        ProblemsOf({NameIs(name), "optimizer.momentum=0"});
    if (name == "momentum" || name == "nesterov" || name == "lars") {
      EXPECT_THAT(problems, HasSubstr("optimizer.momentum is 0; must be in "
                                      "(0, 1)"));
    } else {
      EXPECT_EQ(problems, "") << name;
    }
  }
}

TEST(OptimizerConfigTest, EndsOfRangesAreAllowed) {
  for (const auto& assignments : std::vector<std::vector<std::string>>{
           {"optimizer.name=adam", "optimizer.beta1=0", "optimizer.beta2=0",
            "optimizer.epsilon=0"},
           {"optimizer.name=momentum", "optimizer.dampening=0.999"},
           {"optimizer.name=adagrad", "optimizer.initial_accumulator=3",
            "optimizer.learning_rate_decay=3"},
           {"optimizer.name=lamb", "optimizer.trust_clip=10",
            "optimizer.weight_decay=0", "optimizer.clip_norm=1"}}) {
    EXPECT_EQ(ProblemsOf(assignments), "") << absl::StrJoin(assignments, " ");
  }
}

TEST(OptimizerConfigTest, CombinationsThatMakeNoSenseAreNamed) {
  const std::vector<std::string> kVotes = {
      "optimizer.majority_vote=true", "compressor.name=none",
      "compressor.value_code=sign", "compressor.values.sign_scale=ONE",
      "compressor.error_feedback=false"};
  EXPECT_EQ(ProblemsOf(kVotes), "");
  const auto with_votes = [&](std::vector<std::string> assignments) {
    assignments.insert(assignments.end(), kVotes.begin(), kVotes.end());
    return assignments;
  };
  EXPECT_EQ(ProblemsOf(with_votes({"optimizer.name=lars"})), "");
  const struct {
    std::vector<std::string> assignments;
    std::string problem;  // The whole message.
  } kCases[] = {
      {{"optimizer.name=nesterov", "optimizer.dampening=0.1"},
       "optimizer.dampening is 0.1; must be 0 with optimizer.name "
       "\"nesterov\", which looks ahead by whole gradients"},
      {{"optimizer.name=lars", "optimizer.sparse_update=LAZY"},
       "optimizer.sparse_update is LAZY; must be DENSE with optimizer.name "
       "\"lars\", which needs the norms of whole tensors"},
      {{"optimizer.name=lamb", "optimizer.sparse_update=LAZY"},
       "optimizer.sparse_update is LAZY; must be DENSE with optimizer.name "
       "\"lamb\", which needs the norms of whole tensors"},
      {{"optimizer.name=novograd", "optimizer.sparse_update=LAZY"},
       "optimizer.sparse_update is LAZY; must be DENSE with optimizer.name "
       "\"novograd\", which needs the norms of whole tensors"},
      {{"optimizer.name=momentum", "optimizer.dampening=0.1",
        "optimizer.sparse_update=LAZY"},
       "optimizer.dampening is 0.1; must be 0 with optimizer.sparse_update "
       "LAZY: an element's first gradient, which is not dampened, may come at "
       "any update"},
      {with_votes({"optimizer.sparse_update=LAZY"}),
       "optimizer.sparse_update is LAZY; must be DENSE with "
       "optimizer.majority_vote: every element gets a vote"},
      {with_votes({"optimizer.clip_norm=2"}),
       "optimizer.clip_norm is 2; must be 0 with optimizer.majority_vote: "
       "votes have the same norm at every update; lower the learning rate "
       "instead"},
      {{"optimizer.clip_norm=2", "compressor.clip_norm=3"},
       "optimizer.clip_norm is 2; must be 0 with compressor.clip_norm, which "
       "has clipped the gradient already"},
      {{"downlink.value_code=int8_block"},
       "downlink.value_code is \"int8_block\"; must be one of fp32, fp16, "
       "bf16"},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(ProblemsOf(c.assignments), c.problem);
  }
}

TEST(OptimizerConfigTest, AnUnknownNameListsTheKnownOnes) {
  EXPECT_EQ(
      ProblemsOf({"optimizer.name=sdg"}),
      absl::StrCat("optimizer.name is \"sdg\"; must be one of ",
                   absl::StrJoin(AllNames(), ", "), "; did you mean \"sgd\"?"));
}

// For each rule, weight decay and sparse_update: whether an update changes only
// what was pushed, so that downlink.mode may be UPDATE.
TEST(OptimizerConfigTest,
     DownlinkUpdateNeedsARuleThatChangesOnlyWhatWasPushed) {
  const auto skips = [](const std::string& name) {
    return name == "sgd" || name == "adagrad";
  };
  const auto layer_wise = [](const std::string& name) {
    return name == "lars" || name == "lamb" || name == "novograd";
  };
  for (const std::string& name : AllNames()) {
    for (const char* weight_decay : {"0", "0.01"}) {
      for (const bool lazy : {false, true}) {
        std::vector<std::string> assignments = {
            NameIs(name), absl::StrCat("optimizer.weight_decay=", weight_decay),
            absl::StrCat("optimizer.sparse_update=", lazy ? "LAZY" : "DENSE")};
        const bool allowed =
            lazy ? !layer_wise(name)
                 : skips(name) && std::string(weight_decay) == "0";
        EXPECT_EQ(ChangesOnlyWhatWasPushed(JobOf(assignments)), allowed)
            << absl::StrJoin(assignments, " ");
        assignments.push_back("downlink.mode=UPDATE");
        const std::string problems = ProblemsOf(assignments);
        EXPECT_EQ(problems.find("downlink.mode is UPDATE; needs") ==
                      std::string::npos,
                  allowed)
            << absl::StrJoin(assignments, " ") << ": " << problems;
        EXPECT_EQ(problems.empty(), allowed) << problems;
        assignments.back() = "downlink.mode=COMPRESSED";
        EXPECT_THAT(ProblemsOf(assignments),
                    ::testing::Not(HasSubstr("downlink.mode")));
      }
    }
  }
  // An unset weight decay means the rule's default.
  EXPECT_TRUE(ChangesOnlyWhatWasPushed(JobOf({"optimizer.name=adagrad"})));
  EXPECT_FALSE(ChangesOnlyWhatWasPushed(JobOf({"optimizer.name=sdg"})));
  EXPECT_FALSE(
      ChangesOnlyWhatWasPushed(JobOf({"optimizer.majority_vote=true"})));
}

}  // namespace
}  // namespace ps
