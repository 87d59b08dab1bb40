#include "common/flags.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_split.h"
#include "common/exit_codes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A program with one option or argument of each kind.
class FlagsTest : public testing::Test {
 protected:
  FlagsTest() : command_line_(Text()) {
    command_line_.AddArgument("JOB", "The job, a .textproto file.", &job_);
    command_line_.AddOption("workers", "N", "Start N workers.", &workers_);
    command_line_.AddOption("ratio", "R", "Keep this share.", &ratio_);
    command_line_.AddOption("output", "DIR", "Where the report goes.",
                            &output_);
    command_line_.AddOption("set", "PATH=VALUE", "Override a field.",
                            &overrides_);
    command_line_.AddSwitch("check", "Check the job and stop.", &check_);
  }

  static CommandText Text() {
    CommandText text;
    text.program = "gradsieve train";
    text.description =
        "Trains a job on this machine with one process for every server and "
        "every worker, and writes a report.";
    text.examples = {{"gradsieve train job.textproto", "As the job says."}};
    text.exit_codes = {{"0", "The job is done."}, {"64", "A bad command."}};
    return text;
  }

  absl::StatusOr<ParseResult> Parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "program");
    return command_line_.Parse(static_cast<int>(arguments.size()),
                               arguments.data());
  }

  void ExpectError(const std::vector<const char*>& arguments,
                   const std::string& message) {
    const auto result = Parse(arguments);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(result.status().message()), message);
  }

  std::string job_;
  int64_t workers_ = 2;
  double ratio_ = 0.01;
  std::string output_;
  std::vector<std::string> overrides_;
  bool check_ = false;
  CommandLine command_line_;
};

TEST_F(FlagsTest, WhatIsNotGivenKeepsItsDefault) {
  ASSERT_TRUE(Parse({"job"}).ok());
  EXPECT_EQ(job_, "job");
  EXPECT_EQ(workers_, 2);
  EXPECT_EQ(ratio_, 0.01);
  EXPECT_EQ(output_, "");
  EXPECT_THAT(overrides_, IsEmpty());
  EXPECT_FALSE(check_);
}

TEST_F(FlagsTest, ValuesComeAfterAnEqualsSignOrAsTheNextArgument) {
  const auto result =
      Parse({"--workers=4", "--ratio", "0.5", "job", "--output=a=b", "--check",
             "--set", "x.y=1", "--set=z="});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(*result, ParseResult::kRun);
  EXPECT_EQ(workers_, 4);
  EXPECT_EQ(ratio_, 0.5);
  EXPECT_EQ(output_, "a=b");
  EXPECT_TRUE(check_);
  EXPECT_THAT(overrides_, ElementsAre("x.y=1", "z="));
}

TEST_F(FlagsTest, NegativeAndEmptyValuesAreValues) {
  ASSERT_TRUE(Parse({"job", "--workers", "-3", "--output="}).ok());
  EXPECT_EQ(workers_, -3);
  EXPECT_EQ(output_, "");
}

TEST_F(FlagsTest, AfterTwoDashesEverythingIsAnArgument) {
  ASSERT_TRUE(Parse({"--", "--check"}).ok());
  EXPECT_EQ(job_, "--check");
  EXPECT_FALSE(check_);
}

TEST_F(FlagsTest, ALoneDashIsAnArgument) {
  ASSERT_TRUE(Parse({"-"}).ok());
  EXPECT_EQ(job_, "-");
}

TEST_F(FlagsTest, AnUnknownOptionSuggestsTheNearest) {
  ExpectError({"job", "--wrokers=4"},
              "there is no option --wrokers; did you mean --workers?");
  ExpectError({"job", "--help-me"},
              "there is no option --help-me; did you mean --help?");
  ExpectError({"job", "--out=x"},
              "there is no option --out; did you mean --output?");
  ExpectError({"job", "--frobnicate"}, "there is no option --frobnicate");
  ExpectError({"job", "-x"}, "there is no option -x");
}

TEST_F(FlagsTest, AForgottenValueIsAnErrorThatShowsTheForm) {
  ExpectError({"job", "--output"}, "--output needs a value: --output=DIR");
  ExpectError({"job", "--output", "--check"},
              "--output needs a value: --output=DIR");
}

TEST_F(FlagsTest, AValueOfTheWrongTypeIsAnError) {
  ExpectError({"job", "--workers=4x"},
              "--workers is \"4x\"; must be a whole number");
  ExpectError({"job", "--workers="},
              "--workers is \"\"; must be a whole number");
  ExpectError({"job", "--workers=99999999999999999999"},
              "--workers is \"99999999999999999999\"; must be a whole number");
  ExpectError({"job", "--ratio=many"}, "--ratio is \"many\"; must be a number");
}

TEST_F(FlagsTest, ANumberThatDoesNotFitIsNotCutToOneThatDoes) {
  int rank = 0;
  command_line_.AddOption("rank", "R", "Which worker this is.", &rank);
  // The lowest 32 bits are 1.
  ExpectError({"job", "--rank=4294967297"},
              "--rank is \"4294967297\"; must be a whole number of at most 32 "
              "bits");
}

TEST_F(FlagsTest, ASwitchTakesNoValue) {
  ExpectError({"job", "--check=no"},
              "--check takes no value, but got --check=no");
}

TEST_F(FlagsTest, OnlyARepeatableOptionMayComeTwice) {
  ExpectError({"job", "--workers=1", "--workers=1"},
              "--workers is given twice");
}

TEST_F(FlagsTest, AsManyArgumentsAsDeclared) {
  ExpectError({}, "the argument JOB is missing");
  ExpectError({"one", "two"},
              "unexpected argument \"two\"; nothing but options comes after "
              "JOB");
}

TEST_F(FlagsTest, NoArgumentsAtAllIsNotACrash) {
  EXPECT_FALSE(command_line_.Parse(0, nullptr).ok());
}

TEST_F(FlagsTest, MoreArgumentsAreCollected) {
  std::vector<std::string> more;
  command_line_.AddMoreArguments("FILE", "Further files.", &more);
  ASSERT_TRUE(Parse({"one", "two", "--check", "three"}).ok());
  EXPECT_EQ(job_, "one");
  EXPECT_THAT(more, ElementsAre("two", "three"));
  EXPECT_THAT(command_line_.Help(), HasSubstr("JOB [FILE...]\n"));
}

TEST_F(FlagsTest, ACommandIsWhatFollowsTwoDashes) {
  std::vector<std::string> command;
  command_line_.AddCommand("COMMAND", "What to run.", &command);
  ASSERT_TRUE(Parse({"one", "--", "sh", "-c", "--", "--check"}).ok());
  EXPECT_EQ(job_, "one");
  EXPECT_THAT(command, ElementsAre("sh", "-c", "--", "--check"));
  EXPECT_THAT(command_line_.Help(), HasSubstr("JOB [-- COMMAND...]\n"));
  ExpectError({"one", "two"},
              "unexpected argument \"two\"; nothing but options comes after "
              "JOB");
  ExpectError({"--", "sh"}, "the argument JOB is missing");
}

TEST_F(FlagsTest, ARequiredOptionMustBeGiven) {
  int64_t rank = -1;
  command_line_.AddRequiredOption("rank", "R", "Which worker this is.", &rank);
  ExpectError({"job"}, "--rank=R is missing");
  EXPECT_THAT(command_line_.Help(),
              HasSubstr("Which worker this is. Required.\n"));
}

TEST_F(FlagsTest, ARequiredOptionThatIsGivenIsSet) {
  int64_t rank = -1;
  command_line_.AddRequiredOption("rank", "R", "Which worker this is.", &rank);
  ASSERT_TRUE(Parse({"job", "--rank=3"}).ok());
  EXPECT_EQ(rank, 3);
}

TEST_F(FlagsTest, HelpComesBeforeAnyError) {
  for (const char* help : {"--help", "-h"}) {
    const auto result = Parse({"--unknown", help});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(*result, ParseResult::kHelp);
  }
  // After two dashes "--help" is an ordinary argument.
  EXPECT_EQ(*Parse({"--", "--help"}), ParseResult::kRun);
}

TEST_F(FlagsTest, HelpIsAligned) {
  EXPECT_EQ(command_line_.Help(),
            R"(Usage: gradsieve train [OPTIONS] JOB

Trains a job on this machine with one process for every server and every worker,
and writes a report.

Arguments:
  JOB  The job, a .textproto file.

Options:
  --workers=N       Start N workers. [default: 2]
  --ratio=R         Keep this share. [default: 0.01]
  --output=DIR      Where the report goes.
  --set=PATH=VALUE  Override a field. Repeatable.
  --check           Check the job and stop.
  -h, --help        Show this help and exit.
  --version         Show the version and exit.

Examples:
  gradsieve train job.textproto
      As the job says.

Exit codes:
  0   The job is done.
  64  A bad command.
)");
}

TEST_F(FlagsTest, HelpIsAtMostEightyColumnsWide) {
  std::string text;
  command_line_.AddOption(
      "an-option-with-a-long-name", "AND-A-LONG-VALUE",
      "A sentence that goes on for quite a while, certainly for longer than "
      "what one line of the help can hold beside the name of its option.",
      &text);
  for (const auto line : absl::StrSplit(command_line_.Help(), '\n')) {
    EXPECT_LE(line.size(), 80) << line;
  }
}

TEST_F(FlagsTest, RunTellsWhatToExitWith) {
  const char* help[] = {"program", "--help"};
  testing::internal::CaptureStdout();
  EXPECT_EQ(command_line_.Run(2, help), 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), command_line_.Help());

  const char* wrong[] = {"program", "--chekc", "job"};
  testing::internal::CaptureStderr();
  EXPECT_EQ(command_line_.Run(3, wrong), kExitUsage);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "gradsieve train: there is no option --chekc; did you mean "
            "--check?\nSee 'gradsieve train --help'.\n");

  const char* right[] = {"program", "job"};
  EXPECT_EQ(command_line_.Run(2, right), std::nullopt);
}

std::string FieldForTest(absl::string_view name) {
  return name == "epochs" || name == "epoch" ? "training.epochs" : "";
}

TEST_F(FlagsTest, AnUnknownOptionMayBeAFieldOfTheJob) {
  command_line_.SetFieldFinder(FieldForTest);
  ExpectError({"job", "--epochs=2"},
              "there is no option --epochs; did you mean --set "
              "training.epochs=2?");
  ExpectError({"job", "--epoch", "2"},
              "there is no option --epoch; did you mean --set "
              "training.epochs=VALUE?");
  ExpectError({"job", "--wrokers=4"},
              "there is no option --wrokers; did you mean --workers?");
  ExpectError({"job", "--frobnicate"}, "there is no option --frobnicate");
}

TEST(FlagsWithOptionalValues, TakeTheirValueOnlyAfterAnEqualsSign) {
  const auto parse = [](std::vector<const char*> arguments, std::string* job) {
    std::string page;
    CommandLine command_line(CommandText{});
    command_line.AddArgument("JOB", "The job.", job);
    command_line.AddOptionalValue("page", "ADDRESS", "Serve a page.",
                                  "127.0.0.1:0", &page);
    EXPECT_THAT(command_line.Help(), HasSubstr("--page[=ADDRESS]"));
    arguments.insert(arguments.begin(), "program");
    EXPECT_TRUE(
        command_line.Parse(static_cast<int>(arguments.size()), arguments.data())
            .ok());
    return page;
  };
  std::string job;
  EXPECT_EQ(parse({"job"}, &job), "");
  EXPECT_EQ(parse({"--page", "job"}, &job), "127.0.0.1:0");
  EXPECT_EQ(job, "job");
  EXPECT_EQ(parse({"job", "--page=host:80"}, &job), "host:80");
}

}  // namespace
}  // namespace ps
