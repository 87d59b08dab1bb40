// Real jobs that go on without a worker that is killed, late or never comes.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cluster/processes.h"
#include "tests/cluster/test_process.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Three workers, of which two are enough; trains for some seconds.
std::string TolerantJob(const std::string& consistency,
                        const std::string& compressor = "sidco_e") {
  return absl::StrReplaceAll(
      kEndlessJob, {{"epochs: 1000000", "epochs: 100"},
                    {"num_workers: 2", "num_workers: 3"},
                    {"sidco_e", compressor},
                    {"cluster {", absl::StrCat("consistency { min_workers: 2 ",
                                               consistency, " } cluster {")}});
}

struct TolerantCase {
  std::string consistency;
  std::string compressor = "sidco_e";
};

class TolerantProcesses : public Processes,
                          public testing::WithParamInterface<TolerantCase> {
 protected:
  static std::string Job() {
    return TolerantJob(GetParam().consistency, GetParam().compressor);
  }
  // Trains on a text, which a worker reads again when it is started again.
  std::string JobOnText() const {
    std::string text;
    for (int i = 0; i < 400; ++i) absl::StrAppend(&text, i * i, " ");
    std::filesystem::create_directory(directory_ + "/data");
    std::ofstream(text_path()) << text;
    return absl::StrReplaceAll(
        Job(),
        {{"name: \"mlp\" mlp { hidden_units: 16 }",
          "name: \"char_lstm\" char_lstm { layers: 1 hidden: 8 }"},
         {"name: \"digits\" digits { train_examples: 400 test_examples: 100 }",
          absl::StrCat("name: \"characters\" directory: \"", directory_,
                       "/data\" text { steps: 8 }")}});
  }
  std::string text_path() const { return directory_ + "/data/text.txt"; }
};

TEST_P(TolerantProcesses, KilledWorkersJoinAgain) {
  WriteJob(absl::StrReplaceAll(Job(), {{"lost_worker_timeout_seconds: 1",
                                        "lost_worker_timeout_seconds: 60"}}));
  const auto train = StartTrain();
  ASSERT_TRUE(WaitForProgress()) << train->Output();
  // Worker 0 evaluates and keeps the records.
  for (const int rank : {1, 0}) {
    ASSERT_TRUE(WaitForWorker(rank)) << train->Output();
    SignalTo(absl::StrCat("worker --config=", run_dir(),
                          "/job.textproto --rank=", rank),
             SIGKILL);
    ASSERT_TRUE(WaitFor(kBound, [&] {
      return absl::StrContains(
          train->Output(),
          absl::StrCat("worker ", rank, " joins a job that is under way"));
    })) << train->Output();
  }
  EXPECT_EQ(train->WaitForExit(kBound), 0) << train->Output();
  EXPECT_THAT(train->Output(), HasSubstr("test accuracy"));
  // Nothing that was recorded is lost, but what fell into the break.
  std::ifstream in(run_dir() + "/metrics.jsonl");
  std::string line;
  int64_t last = 0;
  while (std::getline(in, line)) {
    const auto record = nlohmann::json::parse(line);
    if (record.at("event") != "iteration") continue;
    EXPECT_GT(record.at("iteration"), last);
    last = record.at("iteration");
  }
}

TEST_P(TolerantProcesses, AWorkerJoinsThatOthersDidNotWaitFor) {
  // It ends when the test does.
  WriteJob(absl::StrReplaceAll(
      Job(), {{"epochs: 100", "epochs: 1000000"},
              // The other two start within this time, on a busy machine, too.
              {"startup_timeout_seconds: 20", "startup_timeout_seconds: 4"}}));
  std::string addresses;
  const auto servers = StartServers(&addresses);
  const auto losses = [&] {
    size_t least = 1000;
    for (const auto& server : servers) {
      const std::vector<std::string> parts =
          absl::StrSplit(server->Output(), "The job goes on with 2 workers");
      least = std::min(least, parts.size() - 1);
    }
    return least;
  };
  const auto first = StartWorker(0, {addresses, "--run-dir=" + run_dir()});
  const auto second = StartWorker(1, {addresses});
  ASSERT_TRUE(WaitFor(kBound, [&] { return losses() == 1; }))
      << servers[0]->Output();
  const auto late = StartWorker(2, {addresses});
  ASSERT_TRUE(WaitFor(kBound, [&] {
    return absl::StrContains(late->Output(),
                             "worker 2 joins a job that is under way");
  })) << late->Output();
  // Two are enough, and it is one of them.
  second->Signal(SIGKILL);
  ASSERT_TRUE(WaitFor(kBound, [&] { return losses() == 2; }))
      << servers[0]->Output();
  const int64_t before = RecordedLines();
  EXPECT_TRUE(WaitFor(kBound, [&] { return RecordedLines() > before + 5; }))
      << first->Output();
}

// It cannot come back without its data.
TEST_P(TolerantProcesses, TrainGoesOnWithoutAKilledWorker) {
  WriteJob(JobOnText());
  const auto train = StartTrain();
  ASSERT_TRUE(WaitForProgress()) << train->Output();
  ASSERT_TRUE(WaitForWorker(2)) << train->Output();
  std::filesystem::remove(text_path());
  SignalTo(
      absl::StrCat("worker --config=", run_dir(), "/job.textproto --rank=2"),
      SIGKILL);
  EXPECT_EQ(train->WaitForExit(kBound), 0) << train->Output();
  EXPECT_THAT(train->Output(),
              AllOf(HasSubstr("worker-2 was killed by signal 9"),
                    HasSubstr("worker-2 exited with code 78"),
                    HasSubstr("The job goes on with 2 workers"),
                    HasSubstr("test bits per character")));
}

TEST_P(TolerantProcesses, TrainEndsWhenTooFewWorkersAreLeft) {
  WriteJob(JobOnText());
  const auto train = StartTrain();
  ASSERT_TRUE(WaitForProgress()) << train->Output();
  std::filesystem::remove(text_path());
  for (const int rank : {1, 2}) {
    SignalTo(absl::StrCat("worker --config=", run_dir(),
                          "/job.textproto --rank=", rank),
             SIGKILL);
  }
  // Those that are started again do not find their data.
  EXPECT_EQ(train->WaitForExit(kBound), 78) << train->Output();
  EXPECT_THAT(train->Output(), HasSubstr("has no .txt file with text in it"));
  EXPECT_THAT(ProcessesWith(directory_), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Modes, TolerantProcesses,
    testing::Values(TolerantCase{"step_timeout_seconds: 0.02"},
                    TolerantCase{"step_timeout_seconds: 0.02", "scalecom"},
                    TolerantCase{"mode: STALE_SYNCHRONOUS staleness: 2"},
                    TolerantCase{"mode: ASYNCHRONOUS"}));

// The worker has missed updates and continues at the servers' iteration;
// digests verify that it then holds the right weights.
TEST_F(Processes, AWorkerThatStoodStillGoesOnWithTheOthers) {
  WriteJob(absl::StrReplaceAll(
      TolerantJob("step_timeout_seconds: 0.02 digest_every: 1"),
      {{"lost_worker_timeout_seconds: 1", "lost_worker_timeout_seconds: 60"}}));
  const auto train = StartTrain();
  ASSERT_TRUE(WaitForProgress()) << train->Output();
  const std::string worker =
      absl::StrCat("worker --config=", run_dir(), "/job.textproto --rank=2");
  SignalTo(worker, SIGSTOP);
  const auto lines = [&] {
    std::ifstream in(run_dir() + "/metrics.jsonl");
    std::string line;
    int count = 0;
    while (std::getline(in, line)) ++count;
    return count;
  };
  const int before = lines();
  EXPECT_TRUE(WaitFor(kBound, [&] { return lines() > before + 10; }))
      << train->Output();
  SignalTo(worker, SIGCONT);
  EXPECT_EQ(train->WaitForExit(kBound), 0) << train->Output();
}

}  // namespace
}  // namespace ps
