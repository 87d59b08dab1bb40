// Real processes that are killed, misconfigured or in conflict with each other.
// Each ends in bounded time with a message that names the process and the
// problem and says what to do.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/config.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "security/job_certificates.h"
#include "tests/cluster/test_process.h"
#include "tools/report/run_records.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Far longer than needed, but bounded.
constexpr absl::Duration kBound = absl::Seconds(60);

// A job that runs until it is stopped.
constexpr char kEndlessJob[] = R"(
  name: "endless"
  model { name: "mlp" mlp { hidden_units: 16 } }
  data { name: "digits" digits { train_examples: 400 test_examples: 100 } }
  training { batch_size: 8 epochs: 1000000 evaluate_every_epochs: 0 }
  compressor { name: "sidco_e" ratio: 0.1 }
  checkpoint { every: 0 }
  cluster {
    num_workers: 2
    num_servers: 2
    startup_timeout_seconds: 20
    lost_worker_timeout_seconds: 1
    lost_server_timeout_seconds: 1
  }
)";

class Processes : public testing::Test {
 protected:
  Processes() : directory_(NewTestDirectory()) { WriteJob(kEndlessJob); }

  // With certificates, if it is a job.
  void WriteJob(const std::string& text) {
    std::ofstream(job_path()) << text << "security { directory: \""
                              << directory_ << "/certificates\" }\n";
    const absl::StatusOr<JobConfig> job = LoadConfig(job_path());
    if (!job.ok()) return;
    const absl::Time now = absl::Now();
    const auto made =
        WriteJobCertificates(*job, directory_ + "/certificates",
                             {now - absl::Hours(1), now + absl::Hours(1)});
    EXPECT_TRUE(made.ok()) << made.status();
  }

  // Every process that a test starts has the folder in its command line.
  ~Processes() override {
    EXPECT_TRUE(WaitFor(absl::Seconds(10), [&] {
      return ProcessesWith(directory_).empty();
    })) << "processes are left";
    std::filesystem::remove_all(directory_);
  }

  std::string job_path() const { return directory_ + "/job.textproto"; }
  std::string run_dir() const { return directory_ + "/run"; }
  std::string output_path() { return absl::StrCat(directory_, "/", next_++); }

  std::unique_ptr<TestProcess> StartTrain() {
    return Start({ProgramPath("tools/gradsieve"), "train", job_path(),
                  "--run-dir=" + run_dir()});
  }

  std::unique_ptr<TestProcess> StartServer(int index,
                                           const std::string& address) {
    return Start({ProgramPath("server/server"), "--config=" + job_path(),
                  absl::StrCat("--index=", index), "--listen=" + address,
                  absl::StrCat("--address-file=", AddressFile(index))});
  }

  std::unique_ptr<TestProcess> StartWorker(
      int rank, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {ProgramPath("worker/worker"),
                                          "--config=" + job_path(),
                                          absl::StrCat("--rank=", rank)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Start(arguments);
  }

  std::string AddressFile(int index) const {
    return absl::StrCat(directory_, "/address", index);
  }

  // Starts two servers and waits until they listen. *addresses is for --set.
  std::vector<std::unique_ptr<TestProcess>> StartServers(
      std::string* addresses) {
    std::vector<std::unique_ptr<TestProcess>> servers;
    std::vector<std::string> texts;
    for (int i = 0; i < 2; ++i) {
      std::filesystem::remove(AddressFile(i));
      servers.push_back(StartServer(i, "127.0.0.1:0"));
      std::string text;
      EXPECT_TRUE(WaitFor(kBound, [&] {
        std::ifstream(AddressFile(i)) >> text;
        return !text.empty();
      })) << servers.back()->Output();
      texts.push_back(text);
    }
    *addresses =
        absl::StrCat("--set=cluster.servers=", texts[0], ",", texts[1]);
    return servers;
  }

  // Waits until worker 0 has done some iterations.
  bool WaitForProgress() {
    return WaitFor(kBound, [&] { return RecordedLines() > 5; });
  }

  int64_t RecordedLines() {
    std::ifstream in(run_dir() + "/metrics.jsonl");
    std::string line;
    int64_t lines = 0;
    while (std::getline(in, line)) ++lines;
    return lines;
  }

  // Waits for a worker that may register after the first iterations, in jobs
  // where nobody waits for it.
  bool WaitForWorker(int rank) {
    return WaitFor(kBound, [&] {
      std::ifstream in(run_dir() + "/logs/server-1.log");
      const std::string log{std::istreambuf_iterator<char>(in), {}};
      return log.find(absl::StrCat("worker ", rank, " (")) != log.npos;
    });
  }

  // Signals the only process whose command line contains `what`. Signals none
  // if there is not exactly one, because kill(2) takes -1 for every process.
  void SignalTo(const std::string& what, int signal) {
    const std::vector<pid_t> pids = ProcessesWith(what);
    ASSERT_THAT(pids, SizeIs(1)) << what;
    ASSERT_EQ(kill(pids[0], signal), 0) << what;
  }

  std::unique_ptr<TestProcess> Start(
      const std::vector<std::string>& arguments) {
    return std::make_unique<TestProcess>(arguments, output_path());
  }

  const std::string directory_;
  int next_ = 0;
};

TEST_F(Processes, TrainNamesAKilledWorkerAndStopsTheRest) {
  const auto train = StartTrain();
  ASSERT_TRUE(WaitForProgress()) << train->Output();
  SignalTo(
      absl::StrCat("worker --config=", run_dir(), "/job.textproto --rank=1"),
      SIGKILL);
  EXPECT_EQ(train->WaitForExit(kBound), 1) << train->Output();
  EXPECT_THAT(train->Output(),
              AllOf(HasSubstr("worker-1"), HasSubstr("signal 9")));
  EXPECT_THAT(ProcessesWith(directory_), IsEmpty());
}

TEST_F(Processes, TrainNamesAKilledServerAndStopsTheRest) {
  const auto train = StartTrain();
  ASSERT_TRUE(WaitForProgress()) << train->Output();
  SignalTo(
      absl::StrCat("server --config=", run_dir(), "/job.textproto --index=0"),
      SIGKILL);
  EXPECT_EQ(train->WaitForExit(kBound), 1) << train->Output();
  EXPECT_THAT(train->Output(),
              AllOf(HasSubstr("server-0"), HasSubstr("signal 9")));
  EXPECT_THAT(ProcessesWith(directory_), IsEmpty());
}

TEST_F(Processes, CtrlCStopsEverything) {
  const auto train = StartTrain();
  ASSERT_TRUE(WaitForProgress()) << train->Output();
  train->Signal(SIGINT);
  EXPECT_EQ(train->WaitForExit(kBound), 130) << train->Output();
  EXPECT_THAT(train->Output(), HasSubstr("interrupted"));
  EXPECT_THAT(ProcessesWith(directory_), IsEmpty());
}

TEST_F(Processes, CtrlCSavesASnapshotFromWhichTheRunGoesOn) {
  WriteJob(absl::StrReplaceAll(kEndlessJob, {{"every: 0", "every: 1000000"}}));
  const auto train = StartTrain();
  ASSERT_TRUE(WaitForProgress()) << train->Output();
  train->Signal(SIGINT);
  EXPECT_EQ(train->WaitForExit(kBound), 130) << train->Output();
  EXPECT_THAT(train->Output(),
              HasSubstr("To go on: gradsieve train --resume " + run_dir()));
  const auto again =
      Start({ProgramPath("tools/gradsieve"), "train", "--resume", run_dir()});
  EXPECT_TRUE(WaitFor(kBound, [&] {
    return absl::StrContains(again->Output(), "worker 0 goes on after push ");
  })) << again->Output();
  again->Signal(SIGTERM);
  EXPECT_EQ(again->WaitForExit(kBound), 130) << again->Output();
  EXPECT_THAT(ProcessesWith(directory_), IsEmpty());
}

TEST_F(Processes, NothingOutlivesAKilledTrain) {
  const auto train = StartTrain();
  ASSERT_TRUE(WaitForProgress()) << train->Output();
  train->Signal(SIGKILL);
  EXPECT_EQ(train->WaitForExit(kBound), 128 + SIGKILL);
  EXPECT_TRUE(
      WaitFor(kBound, [&] { return ProcessesWith(directory_).empty(); }));
}

TEST_F(Processes, TrainedRunLeavesEverythingItPromises) {
  WriteJob(
      absl::StrReplaceAll(kEndlessJob, {{"epochs: 1000000", "epochs: 1"}}));
  const auto train = StartTrain();
  ASSERT_EQ(train->WaitForExit(kBound), 0) << train->Output();
  for (const char* file :
       {"job.textproto", "metrics.jsonl", "summary.json", "weights.safetensors",
        "logs/server-0.log", "logs/server-1.log", "logs/worker-0.log",
        "logs/worker-1.log"}) {
    EXPECT_TRUE(std::filesystem::exists(run_dir() + "/" + file)) << file;
  }
  EXPECT_THAT(train->Output(),
              AllOf(HasSubstr("test accuracy"), HasSubstr("achieved ratio")));

  const auto plan =
      Start({ProgramPath("tools/gradsieve"), "plan-memory", job_path()});
  ASSERT_EQ(plan->WaitForExit(kBound), 0) << plan->Output();
  const std::string planned = plan->Output();
  const std::vector<std::string> lines =
      absl::StrSplit(planned, '\n', absl::SkipEmpty());
  ASSERT_THAT(lines, SizeIs(2));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(lines[i], HasSubstr(" takes at most "));
    EXPECT_THAT(*ReadFile(absl::StrCat(run_dir(), "/logs/server-", i, ".log")),
                HasSubstr(lines[i]));
  }

  // A second run must not write into the first one's directory.
  const auto again = StartTrain();
  EXPECT_EQ(again->WaitForExit(kBound), 64) << again->Output();
  EXPECT_THAT(again->Output(), HasSubstr(run_dir()));
}

TEST_F(Processes, ReportDrawsWhatATrainedRunHasRecorded) {
  WriteJob(
      absl::StrReplaceAll(kEndlessJob, {{"epochs: 1000000", "epochs: 2"}}));
  const auto train = StartTrain();
  ASSERT_EQ(train->WaitForExit(kBound), 0) << train->Output();
  const auto run = ReadRunRecords(run_dir());
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->compressor, "sidco_e");
  EXPECT_EQ(run->value_code, "fp32");
  EXPECT_EQ(run->target_ratio, 0.1);
  ASSERT_THAT(run->iterations, SizeIs(50));
  for (const IterationRow& row : run->iterations) {
    EXPECT_EQ(row.target_count, std::floor(0.1 * run->num_parameters));
    EXPECT_GT(row.count, 0);
    EXPECT_GE(row.stages, 1);
    // Measuring costs a pass over memory, so it is done only in the first
    // iteration and every tenth after it.
    const bool measured = static_cast<int>(row.iteration) % 10 == 1;
    ASSERT_EQ(row.residual_norm.has_value(), measured) << row.iteration;
    EXPECT_GE(row.residual_norm.value_or(1), 1e-6);
  }

  const auto report =
      Start({ProgramPath("tools/gradsieve"), "report", run_dir()});
  ASSERT_EQ(report->WaitForExit(kBound), 0) << report->Output();
  EXPECT_TRUE(std::filesystem::exists(run_dir() + "/report.html"));
  const auto none =
      Start({ProgramPath("tools/gradsieve"), "report", directory_ + "/none"});
  EXPECT_EQ(none->WaitForExit(kBound), 78);
  EXPECT_THAT(none->Output(), HasSubstr(directory_ + "/none"));
}

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

// It cannot come back without the job.
TEST_P(TolerantProcesses, TrainGoesOnWithoutAKilledWorker) {
  WriteJob(Job());
  const auto train = StartTrain();
  ASSERT_TRUE(WaitForProgress()) << train->Output();
  ASSERT_TRUE(WaitForWorker(2)) << train->Output();
  std::filesystem::remove(run_dir() + "/job.textproto");
  SignalTo(
      absl::StrCat("worker --config=", run_dir(), "/job.textproto --rank=2"),
      SIGKILL);
  EXPECT_EQ(train->WaitForExit(kBound), 0) << train->Output();
  EXPECT_THAT(train->Output(),
              AllOf(HasSubstr("worker-2 was killed by signal 9"),
                    HasSubstr("The job goes on with 2 workers"),
                    HasSubstr("test accuracy")));
}

TEST_P(TolerantProcesses, TrainEndsWhenTooFewWorkersAreLeft) {
  WriteJob(Job());
  const auto train = StartTrain();
  ASSERT_TRUE(WaitForProgress()) << train->Output();
  std::filesystem::remove(run_dir() + "/job.textproto");
  for (const int rank : {1, 2}) {
    SignalTo(absl::StrCat("worker --config=", run_dir(),
                          "/job.textproto --rank=", rank),
             SIGKILL);
  }
  EXPECT_EQ(train->WaitForExit(kBound), 1) << train->Output();
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

TEST_F(Processes, AutoSaysWhatItHasChosen) {
  WriteJob(absl::StrReplaceAll(
      kEndlessJob,
      {{"epochs: 1000000", "epochs: 3 bucket_megabytes: 0.0005"},
       {"name: \"sidco_e\"", "name: \"auto\" auto { decide_every: 10 }"}}));
  const auto train = StartTrain();
  ASSERT_EQ(train->WaitForExit(kBound), 0) << train->Output();
  EXPECT_THAT(train->Output(), HasSubstr("of all iterations' elements"));
  const auto run = ReadRunRecords(run_dir());
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_THAT(run->iterations, SizeIs(75));
  double sum = 0;
  for (const IterationRow& row : run->iterations) {
    ASSERT_TRUE(row.compressed_share.has_value());
    sum += *row.compressed_share;
    // The share is 1 until all workers know of the first probe, and 0 when it
    // begins.
    if (row.iteration <= 5) {
      EXPECT_DOUBLE_EQ(*row.compressed_share, row.iteration <= 4);
    }
    const double least = row.compressed_share == 0.0 ? run->num_parameters : 1;
    EXPECT_GE(row.count, least);
  }
  EXPECT_NEAR(run->compressed_share, sum / 75, 1e-9);
  std::ifstream in(run_dir() + "/logs/worker-0.log");
  const std::string log{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(log, AllOf(HasSubstr("worker 0, auto: "),
                         HasSubstr(" ms an iteration against ")));
}

TEST_F(Processes, OtherWorkerHearsWhoWasKilled) {
  std::string addresses;
  const auto servers = StartServers(&addresses);
  const auto worker0 = StartWorker(0, {addresses, "--run-dir=" + run_dir()});
  const auto worker1 = StartWorker(1, {addresses});
  ASSERT_TRUE(WaitForProgress()) << worker0->Output();
  worker1->Signal(SIGKILL);
  EXPECT_EQ(worker0->WaitForExit(kBound), 1);
  EXPECT_THAT(worker0->Output(), AllOf(HasSubstr("worker 1"), HasSubstr("lost"),
                                       HasSubstr("start the job again")));
  for (const auto& server : servers) {
    EXPECT_EQ(server->WaitForExit(kBound), 1);
    EXPECT_THAT(server->Output(), HasSubstr("worker 1"));
  }
}

TEST_F(Processes, SigtermToOneProcessEndsAllAfterASnapshot) {
  WriteJob(absl::StrReplaceAll(
      kEndlessJob, {{"every: 0", absl::StrCat("every: 1000000 directory: \"",
                                              run_dir(), "/kept\"")}}));
  for (const bool to_server : {true, false}) {
    std::filesystem::remove(run_dir() + "/metrics.jsonl");
    std::string addresses;
    const auto servers = StartServers(&addresses);
    const auto worker0 = StartWorker(0, {addresses, "--run-dir=" + run_dir()});
    const auto worker1 = StartWorker(1, {addresses});
    ASSERT_TRUE(WaitForProgress()) << worker0->Output();
    (to_server ? servers[1] : worker1)->Signal(SIGTERM);
    for (TestProcess* process :
         {servers[0].get(), servers[1].get(), worker0.get(), worker1.get()}) {
      EXPECT_EQ(process->WaitForExit(kBound), 75) << process->Output();
      EXPECT_THAT(process->Output(), HasSubstr("asked to end after"));
    }
  }
}

TEST_F(Processes, WorkersNameAServerThatWasKilled) {
  std::string addresses;
  const auto servers = StartServers(&addresses);
  const auto worker0 = StartWorker(0, {addresses, "--run-dir=" + run_dir()});
  const auto worker1 = StartWorker(1, {addresses});
  ASSERT_TRUE(WaitForProgress()) << worker0->Output();
  servers[1]->Signal(SIGKILL);
  for (TestProcess* worker : {worker0.get(), worker1.get()}) {
    // A worker either notices the loss itself or is told by server 0, which
    // lost the other worker.
    EXPECT_NE(worker->WaitForExit(kBound), 0);
    EXPECT_NE(worker->WaitForExit(kBound), -1);
  }
  EXPECT_THAT(worker0->Output() + worker1->Output(),
              AllOf(HasSubstr("server 1 at 127.0.0.1:"),
                    HasSubstr("start the job again")));
  EXPECT_EQ(servers[0]->WaitForExit(kBound), 1);
}

TEST_F(Processes, WorkersSayThatARestartedServerHasLostItsWeights) {
  WriteJob(absl::StrReplaceAll(
      kEndlessJob,
      {{"lost_server_timeout_seconds: 1", "lost_server_timeout_seconds: 60"}}));
  std::string addresses;
  auto servers = StartServers(&addresses);
  const auto worker0 = StartWorker(0, {addresses, "--run-dir=" + run_dir()});
  const auto worker1 = StartWorker(1, {addresses});
  ASSERT_TRUE(WaitForProgress()) << worker0->Output();
  servers[1]->Signal(SIGKILL);
  servers[1]->WaitForExit(kBound);
  servers[1] = StartServer(1, addresses.substr(addresses.rfind(',') + 1));
  // The first worker that finds out says so, and the job can be started again
  // as it is. The other one may hear of that worker's end instead.
  const int code0 = worker0->WaitForExit(kBound);
  const int code1 = worker1->WaitForExit(kBound);
  EXPECT_TRUE(code0 == 75 || code1 == 75) << code0 << " and " << code1;
  EXPECT_THAT(worker0->Output() + worker1->Output(),
              AllOf(HasSubstr("server 1 at 127.0.0.1:"),
                    HasSubstr("was restarted, and the weights are gone")));
  for (const auto& server : servers) {
    EXPECT_EQ(server->WaitForExit(kBound), 1) << server->Output();
  }
}

TEST_F(Processes, WorkerWithAWrongPortSaysWhichServerItCannotReach) {
  // The port of a server that has ended: it was free a moment ago, and no
  // process listens on it.
  std::string addresses;
  {
    const auto servers = StartServers(&addresses);
    for (const auto& server : servers) server->Signal(SIGKILL);
    for (const auto& server : servers) server->WaitForExit(kBound);
  }
  const auto worker =
      StartWorker(0, {addresses, "--set=cluster.startup_timeout_seconds=2"});
  EXPECT_EQ(worker->WaitForExit(kBound), 75);
  EXPECT_THAT(worker->Output(), AllOf(HasSubstr("server 0 at 127.0.0.1:"),
                                      HasSubstr("cannot be reached"),
                                      HasSubstr("is it running")));
}

TEST_F(Processes, SecondServerOnAUsedPortSaysSo) {
  const auto first = StartServer(0, "127.0.0.1:0");
  std::string address;
  ASSERT_TRUE(WaitFor(kBound, [&] {
    std::ifstream(AddressFile(0)) >> address;
    return !address.empty();
  }));
  const auto second = StartServer(1, address);
  EXPECT_EQ(second->WaitForExit(kBound), 75);
  EXPECT_THAT(second->Output(), AllOf(HasSubstr("cannot listen on " + address),
                                      HasSubstr("another process")));
}

TEST_F(Processes, WorkerWithAnotherConfigIsToldWhichFieldsDiffer) {
  std::string addresses;
  const auto servers = StartServers(&addresses);
  const auto worker =
      StartWorker(1, {addresses, "--set=optimizer.learning_rate=0.5"});
  EXPECT_EQ(worker->WaitForExit(kBound), 78) << worker->Output();
  EXPECT_THAT(worker->Output(), HasSubstr("\n  optimizer.learning_rate\n"));
  // It may have left before the other one answered.
  EXPECT_THAT(servers[0]->Output() + servers[1]->Output(),
              HasSubstr("optimizer.learning_rate: 0.5 there and 0.1 here"));
}

TEST_F(Processes, AServerSaysWhenItMayNotOpenEnoughFiles) {
  WriteJob(absl::StrReplaceAll(kEndlessJob,
                               {{"num_workers: 2", "num_workers: 1000"}}));
  // As a container's runtime may set them.
  const auto server =
      Start({"/bin/sh", "-c",
             absl::StrCat("ulimit -n 1000; exec '",
                          ProgramPath("server/server"), "' --config='",
                          job_path(), "' --index=0 --listen=127.0.0.1:0")});
  EXPECT_EQ(server->WaitForExit(kBound), 78) << server->Output();
  EXPECT_THAT(server->Output(),
              AllOf(HasSubstr("may have 1000 open files"),
                    HasSubstr("1000 workers need up to 5066")));
}

TEST_F(Processes, ServersGiveUpOnAWorkerThatNeverStarts) {
  WriteJob(absl::StrReplaceAll(kEndlessJob, {{"startup_timeout_seconds: 20",
                                              "startup_timeout_seconds: 1"}}));
  std::string addresses;
  const auto servers = StartServers(&addresses);
  EXPECT_EQ(servers[0]->WaitForExit(kBound), 75);
  EXPECT_THAT(servers[0]->Output(),
              AllOf(HasSubstr("worker 0, 1 of 2"), HasSubstr("start it")));
}

}  // namespace
}  // namespace ps
