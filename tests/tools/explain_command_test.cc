// `gradsieve explain` as a process.
#include <string>

#include "common/exit_codes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tools/command_runner.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using ExplainCommand = CommandTest;

TEST_F(ExplainCommand, SaysTypeDefaultAndComment) {
  ASSERT_EQ(Gradsieve({"explain", "training.batch_size"}), kExitDone);
  EXPECT_THAT(output(),
              AllOf(StartsWith("training.batch_size: int32, at least 1, "
                               "default 64\n\n"),
                    HasSubstr("\n  Examples per worker and iteration.")));
  ASSERT_EQ(Gradsieve({"explain", "schedule.name", "compressor.sidco.stages",
                       "model.mlp.hidden_units"}),
            kExitDone);
  EXPECT_THAT(
      output(),
      AllOf(HasSubstr("schedule.name: text, one of constant, step, "
                      "cosine, polynomial, default \"constant\"\n"),
            HasSubstr("compressor.sidco.stages: int32, in [1, 64], or 0 "
                      "for adaptive, default 0\n"),
            HasSubstr("model.mlp.hidden_units: list: int32, at least "
                      "1\n")));
  ASSERT_EQ(Gradsieve({"explain", "data.name", "model.layers.layer[2].name"}),
            kExitDone);
  EXPECT_THAT(output(),
              AllOf(StartsWith("data.name: text, default \"digits\"\n"),
                    HasSubstr("\nmodel.layers.layer[2].name: text")));
}

TEST_F(ExplainCommand, ListsGroupsAndValues) {
  ASSERT_EQ(Gradsieve({"explain"}), kExitDone);
  EXPECT_THAT(output(), AllOf(HasSubstr("\n  seed "), HasSubstr("default 1\n"),
                              HasSubstr("\n  training ")));
  ASSERT_EQ(Gradsieve({"explain", "training"}), kExitDone);
  EXPECT_THAT(output(),
              AllOf(StartsWith("training: group\n"),
                    HasSubstr("\n  batch_size "), HasSubstr("\n  precision ")));
  ASSERT_EQ(Gradsieve({"explain", "training.non_finite"}), kExitDone);
  EXPECT_THAT(output(),
              AllOf(StartsWith("training.non_finite: SKIP or FAIL, default "
                               "FAIL\n"),
                    HasSubstr("\nFAIL\n  The worker stops the job")));
}

TEST_F(ExplainCommand, UnknownFieldsGetTheNearest) {
  EXPECT_EQ(Gradsieve({"explain", "training.epoch"}), kExitUsage);
  EXPECT_THAT(output(), HasSubstr("has no field \"epoch\"; did you mean "
                                  "\"epochs\"?"));
  EXPECT_EQ(Gradsieve({"explain", "epochs"}), kExitUsage);
  EXPECT_THAT(output(), HasSubstr("a job has no field \"epochs\"; did you mean "
                                  "training.epochs?"));
}

}  // namespace
}  // namespace ps
