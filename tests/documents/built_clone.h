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

// Its folder looks like a built clone, with the program and the examples.
class BuiltClone : public testing::Test {
 protected:
  BuiltClone() : directory_(NewTestDirectory()) {
    namespace fs = std::filesystem;
    fs::create_directories(directory_ / "bazel-bin/tools");
    fs::create_symlink(ProgramPath("tools/gradsieve"),
                       directory_ / "bazel-bin/tools/gradsieve");
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
         absl::StrCat("export PATH=/usr/bin:/bin:$PATH; cd '",
                      directory_.string(), "'\n", script)},
        directory_ / "output");
    const int code = process.WaitForExit(absl::Seconds(180));
    *output = process.Output();
    return code;
  }

  const std::filesystem::path directory_;
};

}  // namespace ps

#endif  // TESTS_DOCUMENTS_BUILT_CLONE_H_
