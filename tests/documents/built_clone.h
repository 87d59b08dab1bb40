// A test whose commands run where a reader of the documents would run them.
#ifndef TESTS_DOCUMENTS_BUILT_CLONE_H_
#define TESTS_DOCUMENTS_BUILT_CLONE_H_

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"

namespace ps {

// Its folder has the examples, as a clone, and `gradsieve` is on PATH, as after
// ./quickstart.
class BuiltClone : public testing::Test {
 protected:
  BuiltClone() : directory_(NewTestDirectory()) {
    namespace fs = std::filesystem;
    fs::create_directories(directory_ / "bin");
    fs::create_symlink(ProgramPath("tools/gradsieve"),
                       directory_ / "bin/gradsieve");
    fs::create_directories(directory_ / "deploy");
    fs::create_symlink(ProgramPath("deploy/examples"),
                       directory_ / "deploy/examples");
  }
  ~BuiltClone() override { std::filesystem::remove_all(directory_); }

  // Runs a script of the shell, which ends with the first command that fails.
  // Returns its exit code.
  int Run(const std::string& script, std::string* output) {
    TestProcess process(
        {"/bin/sh", "-e", "-c",
         // Debian's own python3 has the packages that the pages need.
         absl::StrCat("cd '", directory_.string(),
                      "'; export PATH=$PWD/bin:/usr/bin:/bin:$PATH\n", script)},
        directory_ / "output");
    const int code = process.WaitForExit(absl::Seconds(180));
    *output = process.Output();
    return code;
  }

  const std::filesystem::path directory_;
};

}  // namespace ps

#endif  // TESTS_DOCUMENTS_BUILT_CLONE_H_
