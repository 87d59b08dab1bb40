// Real processes in tests, and waiting for conditions.
#ifndef TESTS_CLUSTER_TEST_PROCESS_H_
#define TESTS_CLUSTER_TEST_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace ps {

// The path of a program of this repository in the test's data.
std::string ProgramPath(const std::string& name);

// A new, empty folder for the current test.
std::string NewTestDirectory();

// Returns whether `condition` came true within `timeout`.
bool WaitFor(absl::Duration timeout, const std::function<bool()>& condition);

// The processes, except zombies, whose command line contains `text`.
std::vector<pid_t> ProcessesWith(const std::string& text);

// The most bytes in physical memory that a process has had (VmHWM); 0 if it is
// gone.
int64_t PeakMemoryOf(pid_t pid);

// A process that is killed when the object is destroyed, if it still runs. Not
// thread-safe.
class TestProcess {
 public:
  // Redirects stdout and stderr to `output_path`.
  TestProcess(const std::vector<std::string>& arguments,
              const std::string& output_path);
  ~TestProcess();
  TestProcess(const TestProcess&) = delete;
  TestProcess& operator=(const TestProcess&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;

  // Returns the exit code, 128 + the signal that ended the process, or -1 if it
  // still runs after `timeout`.
  int WaitForExit(absl::Duration timeout);

  // Everything that the process has printed so far.
  std::string Output() const;

 private:
  const std::string output_path_;
  pid_t pid_ = -1;
  int exit_code_ = -1;
  bool exited_ = false;
};

}  // namespace ps

#endif  // TESTS_CLUSTER_TEST_PROCESS_H_
