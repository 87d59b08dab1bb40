// What hosts get, with this machine's sh and tar in place of theirs.
#include "tools/launch/host_files.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/config.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "security/job_certificates.h"
#include "tests/cluster/test_process.h"
#include "tools/launch/launch_record.h"
#include "tools/launch/metrics_copy.h"
#include "tools/launch/programs.h"
#include "tools/launch/remote_command.h"
#include "tools/launch/remote_process.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

class HostFiles : public testing::Test {
 protected:
  HostFiles() : folder_(NewTestDirectory()) {
    fs::create_directories(folder_ + "/home");
    std::ofstream(folder_ + "/program") << "#!/bin/sh\nexit 0\n";
    chmod((folder_ + "/program").c_str(), 0700);
    job_.record.run_id = "17";
    job_.record.server_program = folder_ + "/program";
    job_.record.worker_program = folder_ + "/program";
    job_.hosts = *ParseHosts("a:1,b:2");
    job_.processes = *PlaceProcesses(job_.hosts, /*num_servers=*/2, 7000);
    job_.config.mutable_cluster()->set_num_workers(3);
    job_.folder = RemoteRunFolder("runs/first");
    const absl::Time now = absl::Now();
    EXPECT_TRUE(WriteJobCertificates(job_.config, folder_ + "/certificates",
                                     {now, now + absl::Hours(1)})
                    .ok());
  }
  ~HostFiles() override { fs::remove_all(folder_); }

  // Runs the script of host b in its home folder.
  int Run(std::string* output) {
    const absl::StatusOr<std::string> script =
        HostFilesScript(job_, folder_ + "/certificates", /*host=*/1);
    EXPECT_TRUE(script.ok()) << script.status();
    std::ofstream(folder_ + "/script") << script.value_or("");
    return InHome("sh ../script", output);
  }

  int InHome(const std::string& command, std::string* output) {
    TestProcess process(
        {"/bin/sh", "-c", absl::StrCat("cd ", folder_, "/home; ", command)},
        folder_ + "/output");
    const int code = process.WaitForExit(absl::Seconds(60));
    *output = process.Output();
    return code;
  }

  std::string Home(const std::string& path) const {
    return absl::StrCat(folder_, "/home/", path);
  }

  static std::vector<std::string> Names(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  const std::string folder_;
  LaunchedJob job_;
};

TEST_F(HostFiles, AHostHasTheKeysOfItsOwnProcessesClosedToOthers) {
  std::string output;
  ASSERT_EQ(Run(&output), 0) << output;
  EXPECT_EQ(output, "");
  EXPECT_THAT(Names(Home(job_.folder)),
              UnorderedElementsAre("certificates", "job.textproto",
                                   "lifeline.sh", "records", "run_id"));
  const std::string certificates = Home(RemoteCertificates(job_.folder));
  EXPECT_THAT(Names(certificates),
              UnorderedElementsAre("ca.pem", "server-1.pem", "server-1.key",
                                   "worker-1.pem", "worker-1.key",
                                   "worker-2.pem", "worker-2.key"));
  for (const char* name : {"", "/certificates", "/certificates/worker-1.key"}) {
    struct stat info;
    ASSERT_EQ(stat((Home(job_.folder) + name).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 077, 0u) << name;
  }
  EXPECT_TRUE(CheckCertificateFiles(
                  CertificatePathsOf(certificates, {"job", Role::kWorker, 1}),
                  {"job", Role::kWorker, 1}, absl::Now())
                  .ok());
  const auto config = LoadConfig(Home(RemoteJobPath(job_.folder)));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(ResolvedConfigText(*config), ResolvedConfigText(job_.config));
}

TEST_F(HostFiles, TheFolderOfAnotherRunIsLeftAlone) {
  std::string output;
  ASSERT_EQ(Run(&output), 0) << output;
  ASSERT_EQ(Run(&output), 0) << "the same run again: " << output;
  job_.record.run_id = "18";
  job_.config.set_seed(77);
  ASSERT_EQ(Run(&output), 1);
  EXPECT_THAT(output, HasSubstr("belongs to another run"));
  EXPECT_EQ(LoadConfig(Home(RemoteJobPath(job_.folder)))->seed(), 1u);
}

TEST_F(HostFiles, OfRunsThatBeginAtOnceOneTakesTheFolder) {
  std::string output;
  ASSERT_EQ(Run(&output), 0) << output;
  const std::string folder = Home(job_.folder);
  // Each has its own script, by its id.
  std::string all;
  for (int i = 0; i < 8; ++i) {
    job_.record.run_id = absl::StrCat("run", i);
    Run(&output);
    fs::rename(folder_ + "/script", absl::StrCat(folder_, "/script", i));
    absl::StrAppend(&all, "sh ../script", i,
                    " >/dev/null 2>&1 && echo took & ");
  }
  for (int round = 0; round < 10; ++round) {
    fs::remove_all(folder);
    ASSERT_EQ(InHome(all + "wait", &output), 0);
    ASSERT_EQ(output, "took\n") << "round " << round;
  }
}

TEST_F(HostFiles, AProgramThatIsMissingIsNamed) {
  job_.record.worker_program = "no such/worker";
  std::string output;
  ASSERT_EQ(Run(&output), 1);
  EXPECT_THAT(output, HasSubstr("cannot run no such/worker"));
}

TEST_F(HostFiles, ProcessesGetWhatDiffersBetweenHosts) {
  const auto server = ProcessArguments(job_, job_.processes[1]);
  EXPECT_THAT(server, IsSupersetOf(
                          {"--index=1", "--listen=0.0.0.0:7000",
                           "--config=.cache/gradsieve/runs/first/job.textproto",
                           "--set=checkpoint.directory="
                           ".cache/gradsieve/runs/first/checkpoints"}));
  const auto worker = ProcessArguments(job_, job_.processes[4]);
  EXPECT_THAT(worker,
              IsSupersetOf({"--rank=2", "--set=machine.workers_on_machine=2",
                            "--set=security.directory="
                            ".cache/gradsieve/runs/first/certificates"}));
  job_.config.mutable_checkpoint()->set_directory("/mine");
  job_.config.mutable_security()->set_directory("/mine too");
  for (const std::string& word : ProcessArguments(job_, job_.processes[4])) {
    EXPECT_THAT(word, Not(StartsWith("--set=checkpoint.directory")));
    EXPECT_THAT(word, Not(StartsWith("--set=security.directory")));
  }
}

TEST_F(HostFiles, ACommandOfTheUserGetsTheVariablesOfItsRank) {
  job_.worker_command = {"sh", "-c", "echo $PWD; env", "it's", "!"};
  job_.worker_folder = "/no such folder";
  job_.first_worker_arguments = {"GRADSIEVE_PAGE=8080"};
  job_.metrics_listen = "9090";
  job_.hosts[0].address = "[fd00::1]";
  job_.record.port = 7000;
  const auto variables = [&](const PlacedProcess& process) {
    std::string output;
    EXPECT_EQ(InHome("env -i PATH=\"$PATH\" " +
                         QuoteForShell(ProcessArguments(job_, process)),
                     &output),
              0);
    return std::vector<std::string>(absl::StrSplit(output, '\n'));
  };
  const std::string home = fs::canonical(folder_ + "/home");
  const std::string run = home + "/.cache/gradsieve/runs/first";
  EXPECT_THAT(
      variables(job_.processes[4]),
      AllOf(
          IsSupersetOf(std::vector<std::string>{
              home, "RANK=2", "LOCAL_RANK=1", "WORLD_SIZE=3",
              "LOCAL_WORLD_SIZE=2", "MASTER_ADDR=fd00::1", "MASTER_PORT=7001",
              "GRADSIEVE_JOB=" + run + "/job.textproto",
              "GRADSIEVE_BRIDGE=" + folder_ + "/program",
              "GRADSIEVE_SET=machine.workers_on_machine=2",
              "security.directory=" + run + "/certificates",
              "GRADSIEVE_METRICS_LISTEN=127.0.0.1:9092", "PYTHONUNBUFFERED=1"}),
          Contains(StartsWith("OMP_NUM_THREADS=")),
          Not(Contains(StartsWith("GRADSIEVE_RUN_DIR="))),
          Not(Contains("GRADSIEVE_PAGE=8080"))));
  job_.worker_folder = folder_;
  job_.config.mutable_security()->set_directory("/mine too");
  EXPECT_THAT(variables(job_.processes[2]),
              IsSupersetOf(std::vector<std::string>{
                  fs::canonical(folder_), "RANK=0",
                  "GRADSIEVE_RUN_DIR=" + run + "/records",
                  "security.directory=/mine too", "GRADSIEVE_PAGE=8080"}));
  // Servers of such a job keep no snapshots.
  for (const std::string& word : ProcessArguments(job_, job_.processes[0])) {
    EXPECT_THAT(word, Not(StartsWith("--set=checkpoint.directory")));
  }
}

TEST_F(HostFiles, EachProcessOfAHostServesMetricsAtAPortOfItsOwn) {
  job_.metrics_listen = "0.0.0.0:9090";
  std::vector<std::string> listen;
  for (const PlacedProcess& process : job_.processes) {
    for (const std::string& word : ProcessArguments(job_, process)) {
      if (!absl::StartsWith(word, "--metrics-listen")) continue;
      listen.push_back(absl::StrCat(process.name(), "@",
                                    job_.HostOf(process).name, " ", word));
    }
  }
  EXPECT_THAT(listen, ElementsAre("server-0@a --metrics-listen=0.0.0.0:9090",
                                  "server-1@b --metrics-listen=0.0.0.0:9090",
                                  "worker-0@a --metrics-listen=0.0.0.0:9091",
                                  "worker-1@b --metrics-listen=0.0.0.0:9091",
                                  "worker-2@b --metrics-listen=0.0.0.0:9092"));
}

TEST(RemoteRunFolder, IsNamedLikeTheRunDirectory) {
  EXPECT_EQ(RemoteRunFolder("runs/one"), ".cache/gradsieve/runs/one");
  EXPECT_EQ(RemoteRunFolder("/a/b c$/"), ".cache/gradsieve/runs/b_c_");
}

TEST_F(HostFiles, ABundleIsUnpackedWhenItIsWhole) {
  for (const char* name : {"server", "worker"}) {
    const std::string folder = absl::StrCat(folder_, "/gradsieve/", name);
    fs::create_directories(folder);
    fs::copy(folder_ + "/program", absl::StrCat(folder, "/", name));
  }
  std::string output;
  ASSERT_EQ(InHome("tar -C .. -czf ../bundle gradsieve", &output), 0) << output;
  EXPECT_NE(InHome(UnpackCommand("17", "z", "worker") + " </dev/null", &output),
            0);
  ASSERT_EQ(InHome("head -c 100 ../bundle >../part", &output), 0);
  EXPECT_NE(InHome(UnpackCommand("17", "z", "worker") + " <../part", &output),
            0);
  EXPECT_TRUE(Names(Home(".cache/gradsieve/bundles")).empty());
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(
        InHome(UnpackCommand("17", "z", "worker") + " <../bundle", &output), 0)
        << output;
    EXPECT_THAT(Names(Home(".cache/gradsieve/bundles")),
                UnorderedElementsAre("17"));
  }
  EXPECT_THAT(Names(Home(".cache/gradsieve/bundles/17")), Contains("server"));
}

TEST_F(HostFiles, ARunRemembersHowItWasLaunched) {
  LaunchRecord record;
  record.hosts = "a:4,b=10.0.0.2:4";
  record.port = 7000;
  record.ssh = "ssh -F 'my: config'";
  record.run_id = NewRunId();
  record.server_program = "/my programs/server";
  EXPECT_EQ(record.run_id.size(), 16u);
  ASSERT_TRUE(WriteLaunchRecord(record, folder_).ok());
  const auto read = ReadLaunchRecord(folder_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->hosts, record.hosts);
  EXPECT_EQ(read->port, record.port);
  EXPECT_EQ(read->ssh, record.ssh);
  EXPECT_EQ(read->run_id, record.run_id);
  EXPECT_EQ(read->server_program, record.server_program);
  EXPECT_EQ(read->worker_program, "");
  std::ofstream(folder_ + "/hosts") << "port: 7x\n";
  EXPECT_THAT(std::string(ReadLaunchRecord(folder_).status().message()),
              HasSubstr("\"port: 7x\""));
  EXPECT_FALSE(ReadLaunchRecord(folder_ + "/home").ok());
}

TEST_F(HostFiles, ACopyOfMetricsBeginsAnewWithTheFile) {
  const std::string path = folder_ + "/metrics.jsonl";
  const std::string start = R"({"event":"start"})";
  {
    MetricsCopy copy(path);
    copy.Take(start);
    copy.Take("one");
    copy.Take(start);
    copy.Take("two");
  }
  EXPECT_EQ(*ReadFile(path), start + "\ntwo\n");
  MetricsCopy(path).Take("three");
  EXPECT_EQ(*ReadFile(path), start + "\ntwo\nthree\n");
}

}  // namespace
}  // namespace ps
