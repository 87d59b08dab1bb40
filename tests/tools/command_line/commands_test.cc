// What `gradsieve` says of its commands.
#include "tools/command_line/commands.h"

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/exit_codes.h"
#include "common/file.h"
#include "common/json.h"
#include "compressors/compressor.h"
#include "compressors/value_codes/value_codec.h"
#include "data/dataset.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/model.h"
#include "nlohmann/json.hpp"
#include "optimizers/optimizer.h"
#include "tests/cluster/test_process.h"
#include "tests/tools/command_runner.h"

namespace ps {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using Commands = CommandTest;

TEST_F(Commands, HelpOfACommandIsItsOwn) {
  ASSERT_EQ(Gradsieve({"train", "--help"}), kExitDone);
  const std::string help = output();
  EXPECT_THAT(help, StartsWith("Usage: gradsieve train [OPTIONS] JOB"));
  EXPECT_EQ(Gradsieve({"help", "train"}), kExitDone);
  EXPECT_EQ(output(), help);
  EXPECT_EQ(Gradsieve({"help", "checkpoint", "export"}), kExitDone);
  EXPECT_THAT(output(), StartsWith("Usage: gradsieve checkpoint export "));
  EXPECT_EQ(Gradsieve({"help", "checkpoint"}), kExitDone);
  EXPECT_THAT(output(), StartsWith("Usage: gradsieve checkpoint "));
  EXPECT_EQ(Gradsieve({"help"}), kExitDone);
  EXPECT_THAT(output(), StartsWith("Usage: gradsieve [OPTIONS] COMMAND"));
}

TEST_F(Commands, OutputThatCannotBeWrittenIsAnError) {
  const std::string job = Path("job.textproto");
  std::ofstream(job) << R"(
    model { name: "mlp" mlp { hidden_units: 8 } }
    data { name: "digits" digits { train_examples: 200 test_examples: 50 } }
  )";
  const std::vector<std::string> command_lines[] = {
      {"tools/gradsieve", "list", "data"},
      {"tools/gradsieve", "list", "models", "--json"},
      {"tools/gradsieve", "help"},
      {"tools/gradsieve", "train", "--help"},
      {"tools/gradsieve", "--version"},
      {"tools/gradsieve", "plan-memory", job},
      {"tools/gradsieve", "model", "show", job},
      {"tools/gradsieve", "train", job, "--check"},
      {"tools/gradsieve", "completion", "bash"},
      {"server/server", "--help"},
      {"server/server", "--version"},
      {"worker/worker", "--help"},
      {"worker/worker", "--version"},
  };
  for (std::vector<std::string> arguments : command_lines) {
    const std::string words = absl::StrJoin(arguments, " ");
    arguments[0] = ProgramPath(arguments[0]);
    arguments.insert(arguments.begin(),
                     {"/bin/sh", "-c", "exec \"$@\" >/dev/full", "sh"});
    TestProcess process(arguments, Path("said"));
    EXPECT_EQ(process.WaitForExit(absl::Seconds(100)), kExitFailed) << words;
    EXPECT_THAT(process.Output(),
                HasSubstr("cannot write to standard output: "))
        << words;
  }
}

TEST_F(Commands, AnUnknownCommandSuggestsWhatWasMeant) {
  const struct {
    std::vector<std::string> arguments;
    std::string message;
  } cases[] = {
      {{"export"},
       "gradsieve: there is no command \"export\"; did you mean \"model "
       "export\" or \"checkpoint export\"?\n"},
      {{"trian"},
       "gradsieve: there is no command \"trian\"; did you mean \"train\"?\n"},
      {{"help", "trian"},
       "gradsieve: there is no command \"trian\"; did you mean \"train\"?\n"},
      {{"frobnicate"},
       "gradsieve: there is no command \"frobnicate\"; gradsieve --help lists "
       "them\n"},
      {{"help", "checkpoint", "verfy"},
       "gradsieve checkpoint: there is no command \"verfy\"; did you mean "
       "\"verify\"?\n"},
  };
  for (const auto& a_case : cases) {
    EXPECT_EQ(Gradsieve(a_case.arguments), kExitUsage);
    EXPECT_EQ(output(), a_case.message);
  }
}

TEST_F(Commands, DescribeTheirWords) {
  EXPECT_EQ(Gradsieve({kDescribeSwitch}), kExitDone);
  EXPECT_THAT(output(), HasSubstr("gradsieve\tcommand\ttrain\t\tTrain a job"));
  EXPECT_THAT(output(),
              HasSubstr("gradsieve train\toption\t--resume\t\tGo on"));
  EXPECT_THAT(output(), HasSubstr("gradsieve train\targument\tJOB\t\t"));
  EXPECT_THAT(output(), HasSubstr("gradsieve checkpoint export\toption\t"
                                  "--number\tN\tWhich snapshot"));
}

// Each registered name once, with a line of its own.
TEST_F(Commands, ListSaysWhatEachPlugInIs) {
  const struct {
    std::string kind;
    std::vector<std::string> names;
  } cases[] = {{"models", ModelRegistry().Names()},
               {"data", DatasetRegistry().Names()},
               {"compressors", CompressorRegistry().Names()},
               {"optimizers", OptimizerRegistry().Names()},
               {"values", ValueCodecs().Names()}};
  for (const auto& a_case : cases) {
    ASSERT_EQ(Gradsieve({"list", a_case.kind, "--json"}), kExitDone);
    const Json list = ParseJson(output());
    ASSERT_TRUE(list.is_array()) << output();
    std::vector<std::string> names;
    std::set<std::string> meanings;
    for (const Json& entry : list) {
      names.push_back(entry["name"]);
      meanings.insert(entry["meaning"].get<std::string>());
      EXPECT_FALSE(entry["meaning"].get<std::string>().empty());
    }
    EXPECT_GT(names.size(), 5u);
    EXPECT_EQ(names, a_case.names);
    EXPECT_EQ(meanings.size(), names.size()) << output();

    ASSERT_EQ(Gradsieve({"list", a_case.kind}), kExitDone);
    const std::vector<std::string> lines = absl::StrSplit(output(), '\n');
    ASSERT_EQ(lines.size(), names.size() + 1);
    for (size_t i = 0; i < names.size(); ++i) {
      EXPECT_THAT(lines[i], StartsWith(names[i] + " "));
      EXPECT_LE(lines[i].size(), 100u);
    }
  }
  EXPECT_EQ(Gradsieve({"list", "model"}), kExitUsage);
  EXPECT_THAT(output(), HasSubstr("did you mean \"models\"?"));
}

// In a real bash, which is given the words as if TAB had been pressed.
TEST_F(Commands, BashCompletesWords) {
  ASSERT_EQ(Gradsieve({"completion", "bash"}), kExitDone);
  ASSERT_TRUE(WriteFileAtomically(Path("completion.bash"), output()).ok());
  ASSERT_TRUE(WriteFileAtomically(Path("job.textproto"), "").ok());
  const struct {
    std::string words;  // The last one is to be completed.
    std::string completions;
  } cases[] = {
      {"gradsieve tr", "train"},
      {"gradsieve comp", "compress compare completion"},
      {"gradsieve he", "help"},
      {"gradsieve checkpoint ex", "export"},
      {"gradsieve checkpoint export --n", "--number="},
      {"gradsieve train --re", "--resume"},
      {"gradsieve train job.textproto --set x=1 --ch", "--check"},
      {"gradsieve train jo", "job.textproto"},
      {"gradsieve train --run-dir = jo", "job.textproto"},
      {"gradsieve bench network --band", "--bandwidth="},
      {"gradsieve list --", "--help"},
      {"gradsieve nonsense --x", ""},
  };
  for (const auto& a_case : cases) {
    TestProcess bash({"/bin/bash", "--norc", "-c",
                      absl::StrCat("cd ", Path(""),
                                   " && . ./completion.bash && compopt() { :; }"
                                   " && COMP_WORDS=(",
                                   a_case.words,
                                   ") && COMP_CWORD=$((${#COMP_WORDS[@]} - 1))"
                                   " && _gradsieve && echo ${COMPREPLY[*]}")},
                     Path("bash_output"));
    EXPECT_EQ(bash.WaitForExit(absl::Seconds(60)), 0) << bash.Output();
    EXPECT_EQ(bash.Output(), a_case.completions + "\n") << a_case.words;
  }
}

// Every option that a command has is in the script.
TEST_F(Commands, CompletionKnowsAllWords) {
  ASSERT_EQ(Gradsieve({kDescribeSwitch}), kExitDone);
  const std::string description = output();
  for (const char* shell : {"bash", "zsh"}) {
    ASSERT_EQ(Gradsieve({"completion", shell}), kExitDone);
    int count = 0;
    for (const absl::string_view line : absl::StrSplit(description, '\n')) {
      const std::vector<std::string> parts = absl::StrSplit(line, '\t');
      if (parts.size() < 3 || parts[1] == "argument") continue;
      ++count;
      EXPECT_THAT(output(), HasSubstr(parts[2])) << line;
    }
    EXPECT_GT(count, 100);
  }
}

}  // namespace
}  // namespace ps
