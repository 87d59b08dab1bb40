// Real processes that are killed, misconfigured or in conflict with each other.
// Each ends in bounded time with a message that names the process and the
// problem and says what to do.
#include "tests/cluster/processes.h"

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/clock.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cluster/test_process.h"
#include "tools/process/subprocesses.h"
#include "tools/report/run_records.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(Processes, TrainNamesAKilledWorkerAndStopsTheRest) {
  const auto train = StartTrain();
  ASSERT_TRUE(WaitForProgress()) << train->Output();
  SignalTo(
      absl::StrCat("worker --config=", run_dir(), "/job.textproto --rank=1"),
      SIGKILL);
  EXPECT_EQ(train->WaitForExit(kBound), 75) << train->Output();
  EXPECT_THAT(
      train->Output(),
      AllOf(HasSubstr("gradsieve train: worker-1 was killed by signal 9"),
            HasSubstr("no memory left")));
  EXPECT_THAT(ProcessesWith(directory_), IsEmpty());
}

TEST_F(Processes, TrainNamesAKilledServerAndStopsTheRest) {
  const auto train = StartTrain();
  ASSERT_TRUE(WaitForProgress()) << train->Output();
  SignalTo(
      absl::StrCat("server --config=", run_dir(), "/job.textproto --index=0"),
      SIGKILL);
  EXPECT_EQ(train->WaitForExit(kBound), 75) << train->Output();
  EXPECT_THAT(train->Output(),
              HasSubstr("gradsieve train: server-0 was killed by signal 9"));
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

TEST_F(Processes, AHangUpSavesASnapshotFromWhichTheRunGoesOn) {
  WriteJob(absl::StrReplaceAll(kEndlessJob, {{"every: 0", "every: 1000000"}}));
  const auto train = StartTrain();
  ASSERT_TRUE(WaitForProgress()) << train->Output();
  train->Signal(SIGHUP);
  EXPECT_EQ(train->WaitForExit(kBound), 130) << train->Output();
  EXPECT_THAT(train->Output(),
              HasSubstr("To go on: gradsieve train --resume " + run_dir()));
}

// The state of a process in /proc: 'T' if it is stopped.
char StateOf(pid_t pid) {
  const std::string stat =
      ReadFile(absl::StrCat("/proc/", pid, "/stat")).value_or("");
  const size_t name_end = stat.rfind(") ");
  return name_end == std::string::npos ? '?' : stat[name_end + 2];
}

TEST_F(Processes, WhatATerminalStopsAndContinuesIsAllProcesses) {
  // With a process group of its own, as a shell would give it.
  std::string said;
  SubprocessCallbacks callbacks;
  callbacks.on_line = [&said](int, OutputStream, absl::string_view line) {
    absl::StrAppend(&said, line, "\n");
  };
  Subprocesses shell(callbacks);
  const auto train = shell.Start({ProgramPath("tools/gradsieve"), "train",
                                  job_path(), "--run-dir=" + run_dir()});
  ASSERT_TRUE(train.ok()) << train.status();
  const auto wait_for = [&](const std::function<bool()>& condition) {
    return WaitFor(kBound, [&] {
      return shell.Poll(SteadyClock()->Now()).ok() && condition();
    });
  };
  ASSERT_TRUE(wait_for([&] { return RecordedLines() > 5; })) << said;
  const std::vector<pid_t> pids = ProcessesWith(directory_);
  ASSERT_THAT(pids, SizeIs(5));
  const auto all_are_stopped = [&pids] {
    return absl::c_all_of(pids, [](pid_t pid) { return StateOf(pid) == 'T'; });
  };
  const auto none_is_stopped = [&pids] {
    return absl::c_none_of(pids, [](pid_t pid) { return StateOf(pid) == 'T'; });
  };
  shell.Signal(*train, SIGTSTP);
  ASSERT_TRUE(wait_for(all_are_stopped));
  const int64_t lines = RecordedLines();
  shell.Signal(*train, SIGCONT);
  ASSERT_TRUE(wait_for(none_is_stopped));
  EXPECT_TRUE(wait_for([&] { return RecordedLines() > lines + 5; })) << said;
  EXPECT_TRUE(shell.Terminate(kBound).ok());
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

TEST_F(Processes, ASignalToOneProcessEndsAllAfterASnapshot) {
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
    (to_server ? servers[1] : worker1)->Signal(to_server ? SIGTERM : SIGHUP);
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
  EXPECT_EQ(servers[0]->WaitForExit(kBound), 1) << servers[0]->Output();
  // No worker has registered with it.
  EXPECT_EQ(servers[1]->WaitForExit(kBound), 75) << servers[1]->Output();
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
