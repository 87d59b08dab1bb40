// Processes are /bin/sh; what they wait for is the test's.
#include "tools/process/supervisor.h"

#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = JobProcess::Kind;
using Action = Decision::Action;

// How a process has ended.
std::string End(const JobProcess& process) {
  return absl::StrCat(process.name, " ", DescribeExit(process.exit));
}

class SupervisorTest : public testing::Test, public Launcher {
 protected:
  SupervisorTest()
      : directory_(NewTestDirectory()), interrupts_(*Interrupts::Create()) {
    options_.run_directory = directory_;
    options_.interrupts = interrupts_.get();
    options_.show_log = false;
  }
  ~SupervisorTest() override { std::filesystem::remove_all(directory_); }

  void Add(Kind kind, int number, const std::string& script) {
    JobProcess process;
    process.kind = kind;
    process.number = number;
    process.name = absl::StrCat(kind == Kind::kServer   ? "server-"
                                : kind == Kind::kWorker ? "worker-"
                                                        : "helper-",
                                number);
    scripts_[process.name] = script;
    processes_.push_back(std::move(process));
  }

  absl::Status Run() {
    options_.min_workers = options_.min_workers == 0
                               ? static_cast<int>(processes_.size())
                               : options_.min_workers;
    return Supervise(options_, this, &processes_);
  }

  absl::StatusOr<std::optional<Command>> CommandFor(
      const JobProcess& process) override {
    if (waits_ && waits_(process)) return std::nullopt;
    started_.push_back(process.name);
    Command command;
    command.arguments = {
        "/bin/sh", "-c",
        absl::StrCat("cd ", directory_, "; ", scripts_.at(process.name))};
    return command;
  }
  Decision OnFailure(const JobProcess& process, const JobState& job) override {
    if (job.has_failed) return {Action::kFail, End(process)};
    Decision decision = decision_;
    if (decision.text.empty()) decision.text = End(process);
    return decision;
  }
  bool HasEnough(int64_t iteration) override { return iteration >= enough_; }
  void TakeHelperLine(absl::string_view line) override {
    helper_lines_.emplace_back(line);
  }

  std::string Log(const std::string& name) const {
    return ReadFile(absl::StrCat(directory_, "/logs/", name, ".log"))
        .value_or("none");
  }

  const std::string directory_;
  const std::unique_ptr<Interrupts> interrupts_;
  SupervisorOptions options_;
  std::vector<JobProcess> processes_;
  std::map<std::string, std::string> scripts_;
  std::function<bool(const JobProcess&)> waits_;
  Decision decision_;  // About each process that has failed.
  int64_t enough_ = 1'000'000;
  std::vector<std::string> started_;
  std::vector<std::string> helper_lines_;
};

TEST_F(SupervisorTest, ProcessesStartWhenTheLauncherLetsThem) {
  Add(Kind::kServer, 0,
      "touch listens; until [ -e done ]; do sleep 0.01; done");
  Add(Kind::kWorker, 0, "echo trains; touch done");
  Add(Kind::kWorker, 1, "echo trains, too >&2");
  waits_ = [this](const JobProcess& process) {
    return process.kind == Kind::kWorker &&
           !std::filesystem::exists(directory_ + "/listens");
  };
  EXPECT_EQ(Run(), absl::OkStatus());
  EXPECT_THAT(started_, ElementsAre("server-0", "worker-0", "worker-1"));
  EXPECT_EQ(Log("server-0"), "");
  EXPECT_EQ(Log("worker-0"), "trains\n");
  EXPECT_EQ(Log("worker-1"), "trains, too\n");
}

TEST_F(SupervisorTest, TheProcessThatFailedFirstIsNamedAndOthersAreEnded) {
  Add(Kind::kServer, 0,
      "until [ -e failed ]; do sleep 0.01; done;"
      "echo 'E20261125 16:33:36.548906 1 a.cc:1] worker 0 gave up' >&2; exit "
      "1");
  Add(Kind::kWorker, 0,
      "touch failed; until [ -s logs/server-0.log ]; do sleep 0.01; done; exit "
      "78");
  Add(Kind::kWorker, 1, "exec sleep 1000");
  EXPECT_EQ(Run(),
            absl::FailedPreconditionError("worker-0 exited with code 78"));
}

TEST_F(SupervisorTest, AProcessIsStartedAgainAndContinuesItsLog) {
  Add(Kind::kServer, 0, "until [ -e done ]; do sleep 0.01; done");
  Add(Kind::kWorker, 0, "echo x; mkdir first && kill -9 $$; touch done");
  decision_.action = Action::kStartAgain;
  EXPECT_EQ(Run(), absl::OkStatus());
  EXPECT_THAT(started_, ElementsAre("server-0", "worker-0", "worker-0"));
  EXPECT_THAT(Log("worker-0"), HasSubstr("x\nx\n"));
}

TEST_F(SupervisorTest, ServersThatAreDoneStartAgainWithAWorker) {
  Add(Kind::kServer, 0, "echo $$ >pid");
  // A process that has ended is there until the supervisor knows.
  Add(Kind::kWorker, 0,
      "mkdir first || exit 0; until [ -s pid ]; do sleep 0.01; done; "
      "while kill -0 $(cat pid); do sleep 0.01; done; exit 75");
  decision_.action = Action::kStartAgain;
  decision_.with_servers = true;
  EXPECT_EQ(Run(), absl::OkStatus());
  EXPECT_THAT(started_,
              ElementsAre("server-0", "worker-0", "server-0", "worker-0"));
}

TEST_F(SupervisorTest, AJobGoesOnWithoutAWorker) {
  Add(Kind::kServer, 0, "until [ -e done ]; do sleep 0.01; done");
  Add(Kind::kWorker, 0, "until [ -e lost ]; do sleep 0.01; done; touch done");
  Add(Kind::kWorker, 1, "touch lost; exit 1");
  // It hangs, and nobody needs it.
  Add(Kind::kWorker, 2, "exec sleep 1000");
  decision_.action = Action::kGoOn;
  options_.min_workers = 1;
  EXPECT_EQ(Run(), absl::OkStatus());
}

TEST_F(SupervisorTest, ALauncherMayGiveUp) {
  Add(Kind::kServer, 0, "exec sleep 1000");
  Add(Kind::kWorker, 0, "exit 75");
  decision_.action = Action::kGiveUp;
  EXPECT_EQ(Run(), absl::UnavailableError("worker-0 exited with code 75"));
}

TEST_F(SupervisorTest, ARunMayHaveEnough) {
  Add(Kind::kWorker, 0,
      "echo '{\"iteration\": 7}' >metrics.jsonl; exec sleep 1000");
  enough_ = 7;
  EXPECT_EQ(Run(), absl::OkStatus());
}

TEST_F(SupervisorTest, AnInterruptLetsProcessesSave) {
  Add(Kind::kWorker, 0,
      absl::StrCat("trap 'touch saved; exit 75' TERM; kill -INT ", getpid(),
                   "; while :; do sleep 0.01; done"));
  options_.keeps_snapshots = true;
  options_.saving = absl::Seconds(60);
  EXPECT_TRUE(absl::IsCancelled(Run()));
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/saved"));
}

TEST_F(SupervisorTest, HelpersAreRelayedAndNotWaitedFor) {
  Add(Kind::kHelper, 0,
      "echo line; echo problem >&2; touch told; exec sleep 1000");
  Add(Kind::kWorker, 0, "until [ -e told ]; do sleep 0.01; done");
  EXPECT_EQ(Run(), absl::OkStatus());
  EXPECT_THAT(helper_lines_, ElementsAre("line"));
  EXPECT_EQ(Log("helper-0"), "none");
}

}  // namespace
}  // namespace ps
