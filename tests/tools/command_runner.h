// Runs the `gradsieve` program to its end, in a folder of the test.
#ifndef TESTS_TOOLS_COMMAND_RUNNER_H_
#define TESTS_TOOLS_COMMAND_RUNNER_H_

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace ps {

class CommandTest : public testing::Test {
 protected:
  CommandTest();
  ~CommandTest() override;

  // A path in the test's folder.
  std::string Path(const std::string& name) const;

  // The sorted names in a folder below the test's folder; "" for the test's
  // own.
  std::vector<std::string> Names(const std::string& folder) const;

  // Runs `gradsieve ARGUMENTS` and keeps its output in output(). Returns the
  // exit code.
  int Gradsieve(const std::vector<std::string>& arguments);
  const std::string& output() const { return output_; }

 private:
  const std::string directory_;
  std::string output_;
};

}  // namespace ps

#endif  // TESTS_TOOLS_COMMAND_RUNNER_H_
