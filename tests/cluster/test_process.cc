#include "tests/cluster/test_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "glog/logging.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

std::string ProgramPath(const std::string& name) {
  const char* const sources = std::getenv("TEST_SRCDIR");
  const char* const workspace = std::getenv("TEST_WORKSPACE");
  CHECK(sources != nullptr && workspace != nullptr) << "run this with Bazel";
  return absl::StrCat(sources, "/", workspace, "/", name);
}

std::string NewTestDirectory() {
  std::string path = absl::StrCat(testing::TempDir(), "/cluster.XXXXXX");
  CHECK(mkdtemp(&path[0]) != nullptr) << path;
  return path;
}

bool WaitFor(absl::Duration timeout, const std::function<bool()>& condition) {
  const absl::Time deadline = absl::Now() + timeout;
  while (!condition()) {
    if (absl::Now() > deadline) return false;
    poll(nullptr, 0, 10);
  }
  return true;
}

std::vector<pid_t> ProcessesWith(const std::string& text) {
  std::vector<pid_t> pids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
    // A zombie's command line is empty.
    std::string line = ReadAll(absl::StrCat("/proc/", pid, "/cmdline"));
    std::replace(line.begin(), line.end(), '\0', ' ');
    if (absl::StrContains(line, text)) pids.push_back(pid);
  }
  return pids;
}

int64_t PeakMemoryOf(pid_t pid) {
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  std::string word;
  int64_t kilobytes = 0;
  while (status >> word) {
    if (word == "VmHWM:") status >> kilobytes;
  }
  return kilobytes << 10;
}

TestProcess::TestProcess(const std::vector<std::string>& arguments,
                         const std::string& output_path)
    : output_path_(output_path) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  const int output =
      open(output_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  CHECK(output >= 0) << output_path;
  pid_ = fork();
  CHECK_GE(pid_, 0) << "fork";
  if (pid_ == 0) {
    // Tests may run under nohup, and what is ignored stays so in a child.
    std::signal(SIGHUP, SIG_DFL);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(output);
}

TestProcess::~TestProcess() {
  if (exited_) return;
  kill(pid_, SIGKILL);
  WaitForExit(absl::Seconds(10));
}

void TestProcess::Signal(int signal) const { kill(pid_, signal); }

int TestProcess::WaitForExit(absl::Duration timeout) {
  if (exited_) return exit_code_;
  int status = 0;
  exited_ =
      WaitFor(timeout, [&] { return waitpid(pid_, &status, WNOHANG) == pid_; });
  if (!exited_) return -1;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return exit_code_;
}

std::string TestProcess::Output() const { return ReadAll(output_path_); }

}  // namespace ps
