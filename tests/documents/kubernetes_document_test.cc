// docs/kubernetes.md, as far as it can be followed without a cluster, and
// docs/operations.md, which must know every alert.
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string Text(const std::string& path) {
  return ReadFile(ProgramPath(path)).value_or("");
}

// The indented lines of the page; one that ends in "\\" or "|" goes on.
std::vector<std::string> Commands() {
  const std::string text = absl::StrReplaceAll(Text("docs/kubernetes.md"),
                                               {{"\\\n", " "}, {"|\n", "| "}});
  std::vector<std::string> commands;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(line, "    ")) commands.emplace_back(line.substr(4));
  }
  return commands;
}

TEST(KubernetesDocument, ItsOwnCommandsRun) {
  const fs::path folder = NewTestDirectory();
  fs::create_directories(folder / "bin");
  fs::create_symlink(ProgramPath("tools/gradsieve"), folder / "bin/gradsieve");
  fs::create_symlink(ProgramPath("deploy"), folder / "deploy");
  int run = 0;
  for (const std::string& command : Commands()) {
    if (!absl::StartsWith(command, "gradsieve ")) continue;
    ++run;
    TestProcess process({"/bin/sh", "-c",
                         absl::StrCat("cd ", folder.string(),
                                      "; PATH=$PWD/bin:$PATH; ", command)},
                        folder / "output");
    EXPECT_EQ(process.WaitForExit(absl::Seconds(60)), 0) << command << "\n"
                                                         << process.Output();
  }
  EXPECT_GE(run, 2);
  EXPECT_THAT(ReadFile(folder / "certificates/secrets.yaml").value_or(""),
              HasSubstr("name: gradsieve-worker-certificates"));
  fs::remove_all(folder);
}

TEST(KubernetesDocument, ItsFilesAreThere) {
  const std::regex path(R"(deploy/k8s/[a-z0-9/._-]+)");
  std::set<std::string> paths;
  for (const std::string& command : Commands()) {
    for (std::sregex_iterator it(command.begin(), command.end(), path), end;
         it != end; ++it) {
      paths.insert(it->str());
    }
  }
  paths.erase("deploy/k8s/validate");  // A program.
  EXPECT_GE(paths.size(), 5u);
  for (const std::string& each : paths) {
    EXPECT_TRUE(fs::exists(ProgramPath(each))) << each;
  }
}

TEST(OperationsDocument, KnowsEveryAlert) {
  const std::string page = Text("docs/operations.md");
  const std::string rules =
      Text("deploy/k8s/components/monitoring/alerts.yaml");
  const std::regex alert(R"(- alert: (\w+))");
  int alerts = 0;
  for (std::sregex_iterator it(rules.begin(), rules.end(), alert), end;
       it != end; ++it, ++alerts) {
    EXPECT_THAT(page, HasSubstr(absl::StrCat("| `", (*it)[1].str(), "`")));
  }
  EXPECT_GE(alerts, 8);
}

}  // namespace
}  // namespace ps
