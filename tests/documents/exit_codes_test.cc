// docs/operations.md against the programs, the manifests and the units.
#include "common/exit_codes.h"

#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

std::string Text(const std::string& path) {
  return ReadFile(ProgramPath(path)).value_or("");
}

// "never", "yes" and so on, by exit code.
std::map<int, std::string> Table() {
  std::map<int, std::string> rows;
  for (const absl::string_view line :
       absl::StrSplit(Text("docs/operations.md"), '\n')) {
    const std::vector<std::string> cells = absl::StrSplit(line, '|');
    int code = 0;
    if (cells.size() == 5 && absl::SimpleAtoi(cells[1], &code)) {
      rows[code] = std::string(absl::StripAsciiWhitespace(cells[3]));
    }
  }
  return rows;
}

std::set<int> CodesWith(const std::string& advice) {
  std::set<int> codes;
  for (const auto& [code, again] : Table()) {
    if (again == advice) codes.insert(code);
  }
  return codes;
}

TEST(ExitCodes, AreThoseOfThePrograms) {
  EXPECT_THAT(CodesWith("no"), ElementsAre(kExitDone));
  EXPECT_THAT(CodesWith("may help"), ElementsAre(kExitFailed));
  EXPECT_THAT(CodesWith("never"), ElementsAre(kExitUsage, kExitConfig));
  EXPECT_THAT(CodesWith("yes"),
              ElementsAre(kExitUnreachable, 129, kExitInterrupted, 137, 143));
}

TEST(ExitCodes, OfEachHelpAreInTheTable) {
  std::set<int> documented;
  for (const auto& row : Table()) documented.insert(row.first);
  const std::string output = NewTestDirectory() + "/output";
  for (const char* command :
       {"server/server", "worker/worker", "bridge/bridge",
        "tools/gradsieve train", "tools/gradsieve launch",
        "tools/gradsieve certs", "tools/gradsieve compress",
        "tools/gradsieve doctor", "tools/gradsieve checkpoint list"}) {
    const std::vector<std::string> words = absl::StrSplit(command, ' ');
    std::vector<std::string> arguments(words.begin() + 1, words.end());
    arguments.insert(arguments.begin(), ProgramPath(words[0]));
    arguments.push_back("--help");
    TestProcess process(arguments, output);
    ASSERT_EQ(process.WaitForExit(absl::Seconds(60)), 0) << process.Output();
    const std::string help = process.Output();
    const size_t begin = help.find("Exit codes:");
    ASSERT_NE(begin, std::string::npos) << command;
    std::set<int> codes;
    for (const absl::string_view line :
         absl::StrSplit(help.substr(begin), '\n')) {
      const std::vector<std::string> parts =
          absl::StrSplit(line, ' ', absl::SkipEmpty());
      int code = 0;
      if (!parts.empty() && absl::SimpleAtoi(parts[0], &code)) {
        codes.insert(code);
      }
    }
    EXPECT_FALSE(codes.empty()) << command;
    EXPECT_THAT(documented, IsSupersetOf(codes)) << command;
  }
}

TEST(ExitCodes, ThatMeanNeverKeepSystemdFromStartingAgain) {
  std::vector<std::string> codes;
  for (const int code : CodesWith("never")) codes.push_back(absl::StrCat(code));
  for (const char* process : {"server", "worker"}) {
    EXPECT_THAT(
        Text(absl::StrCat("deploy/systemd/gradsieve-", process, "@.service")),
        HasSubstr(absl::StrCat(
            "\nRestart=on-failure\n",
            "RestartPreventExitStatus=", absl::StrJoin(codes, " "), "\n")));
  }
}

TEST(ExitCodes, ThatMeanNeverFailAJobOnKubernetes) {
  const std::string job = Text("deploy/k8s/base/worker-job.yaml");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(
      job, found,
      std::regex(R"(action: FailJob[^\]]*values: \[([0-9, ]*)\])")));
  std::set<int> codes;
  for (const absl::string_view word : absl::StrSplit(found[1].str(), ',')) {
    int code = 0;
    ASSERT_TRUE(absl::SimpleAtoi(word, &code)) << word;
    codes.insert(code);
  }
  EXPECT_EQ(codes, CodesWith("never"));
}

}  // namespace
}  // namespace ps
