// A real process in a test, and conditions to wait for.
#ifndef TESTS_CLUSTER_TEST_PROCESS_H_
#define TESTS_CLUSTER_TEST_PROCESS_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace ps {

// The path of a program of this repository, among the test's data.
std::string ProgramPath(const std::string& name);

// A new empty folder of this test alone.
std::string NewTestDirectory();

// Returns whether `condition` came true within `timeout`.
bool WaitFor(absl::Duration timeout, const std::function<bool()>& condition);

// Processes, zombies aside, whose command line contains `text`.
std::vector<pid_t> ProcessesWith(const std::string& text);

// Killed, if it still runs, when the object goes. Not thread-safe.
class TestProcess {
 public:
  // stdout and stderr go to `output_path`.
  TestProcess(const std::vector<std::string>& arguments,
              const std::string& output_path);
  ~TestProcess();
  TestProcess(const TestProcess&) = delete;
  TestProcess& operator=(const TestProcess&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;

  // The exit code, 128 + the signal that ended it, or -1 if it still runs after
  // `timeout`.
  int WaitForExit(absl::Duration timeout);

  // Everything that it has printed.
  std::string Output() const;

 private:
  const std::string output_path_;
  pid_t pid_ = -1;
  int exit_code_ = -1;
  bool exited_ = false;
};

}  // namespace ps

#endif  // TESTS_CLUSTER_TEST_PROCESS_H_
