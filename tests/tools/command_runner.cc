#include "tests/tools/command_runner.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/cluster/test_process.h"

namespace ps {
namespace {

// Far longer than any command here needs, even under a sanitizer.
constexpr absl::Duration kBound = absl::Seconds(200);

}  // namespace

CommandTest::CommandTest() : directory_(NewTestDirectory()) {}

CommandTest::~CommandTest() { std::filesystem::remove_all(directory_); }

std::string CommandTest::Path(const std::string& name) const {
  return absl::StrCat(directory_, "/", name);
}

std::vector<std::string> CommandTest::Names(const std::string& folder) const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(Path(folder))) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

int CommandTest::Gradsieve(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {ProgramPath("tools/gradsieve")};
  command.insert(command.end(), arguments.begin(), arguments.end());
  // Outside the folder, because a test may list it.
  const std::string output_path = absl::StrCat(directory_, ".output");
  TestProcess process(command, output_path);
  const int exit_code = process.WaitForExit(kBound);
  output_ = process.Output();
  std::filesystem::remove(output_path);
  return exit_code;
}

}  // namespace ps
