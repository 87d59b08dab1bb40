// Real processes of a job, for tests that kill and misconfigure them.
#ifndef TESTS_CLUSTER_PROCESSES_H_
#define TESTS_CLUSTER_PROCESSES_H_

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "security/job_certificates.h"
#include "tests/cluster/test_process.h"

namespace ps {

// Far longer than needed, but bounded.
inline constexpr absl::Duration kBound = absl::Seconds(60);

// A job that runs until it is stopped.
inline constexpr char kEndlessJob[] = R"(
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
    ASSERT_THAT(pids, testing::SizeIs(1)) << what;
    ASSERT_EQ(kill(pids[0], signal), 0) << what;
  }

  std::unique_ptr<TestProcess> Start(
      const std::vector<std::string>& arguments) {
    return std::make_unique<TestProcess>(arguments, output_path());
  }

  const std::string directory_;
  int next_ = 0;
};

}  // namespace ps

#endif  // TESTS_CLUSTER_PROCESSES_H_
