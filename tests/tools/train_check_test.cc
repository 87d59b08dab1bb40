// What is found before anything is started: `--check` of all programs, and what
// servers and workers say that are started by hand.
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/exit_codes.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"
#include "tests/tools/train_test.h"
#include "tools/process/temporary_directory.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class TrainCheck : public TrainTest {
 protected:
  TrainCheck() {
    // The test's own folder has too long a name for sockets.
    absl::StatusOr<std::unique_ptr<TemporaryDirectory>> sockets =
        TemporaryDirectory::Create();
    EXPECT_TRUE(sockets.ok()) << sockets.status();
    sockets_ = *std::move(sockets);
    address_ = absl::StrCat("--set=cluster.servers=unix:", sockets_->path(),
                            "/server-0");
  }

  // "server" or "worker"; keeps its output in said_.
  int RunProcess(const std::string& program,
                 const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "/usr/bin/env",
        "-u",
        "POD_INDEX",
        "-u",
        "JOB_COMPLETION_INDEX",
        ProgramPath(absl::StrCat(program, "/", program)),
        "--config=" + Path("job.textproto"),
        address_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    TestProcess process(arguments, Path("output"));
    const int exit_code = process.WaitForExit(absl::Seconds(100));
    said_ = process.Output();
    return exit_code;
  }

  std::unique_ptr<TemporaryDirectory> sockets_;
  std::string address_;
  std::string said_;
};

TEST_F(TrainCheck, WhatPassesIsDescribed) {
  EXPECT_EQ(Train({"--check"}), kExitDone);
  EXPECT_THAT(
      output(),
      StartsWith(Path("job.textproto") +
                 " is a valid job: mlp with 6,370 parameters, 200 training "
                 "examples, 50 test examples, 25 iterations\n"
                 "each worker takes about "));
  EXPECT_THAT(output(), Not(HasSubstr("note: ")));
  EXPECT_EQ(Train({"--check", "--no-data", "--set=data.name=mnist",
                   "--set=data.directory=elsewhere"}),
            kExitDone);
  EXPECT_THAT(output(), HasSubstr("its data was not read"));
  EXPECT_EQ(Train({"--no-data"}), kExitUsage);
  EXPECT_FALSE(fs::exists(Path("run")));
}

TEST_F(TrainCheck, WhatHasNoEffectOrARareOneIsNoted) {
  EXPECT_EQ(
      Train({"--check", "--set=model.char_lstm.hidden=8",
             "--set=data.shapes.train_examples=9",
             "--set=worker_optimizer.name=momentum",
             "--set=optimizer.name=adam", "--set=optimizer.learning_rate=0.01",
             "--set=schedule.warmup_updates=25"}),
      kExitDone);
  for (const char* note :
       {"note: model.char_lstm has no effect: model.name is \"mlp\"\n",
        "note: data.shapes has no effect: data.name is \"digits\"\n",
        "note: workers make steps of worker_optimizer (momentum), and servers "
        "take these for gradients of optimizer (adam, learning_rate 0.01); "
        "without optimizer they add the steps up\n",
        "note: schedule.warmup_updates is 25, and this job makes 25 updates: "
        "it ends before it reaches its learning rate\n"}) {
    EXPECT_THAT(output(), HasSubstr(note));
  }
}

TEST_F(TrainCheck, TheSmallestModelsHaveOneServerUnlessTheJobSaysMore) {
  std::ofstream(Path("job.textproto"))
      << "model { name: 'lstm_lm' lstm_lm { layers: 1 hidden: 2 dropout: 0 } }"
         "data { name: 'phrases' phrases { train_sentences: 100 "
         "test_sentences: 20 } }"
         "training { batch_size: 2 max_iterations: 3 }"
         "compressor { name: 'topk' ratio: 0.1 }";
  ASSERT_EQ(Train({"--check"}), kExitDone) << output();
  EXPECT_THAT(output(), HasSubstr("note: the model makes one slice of weights, "
                                  "so that the job has one server"));
  ASSERT_EQ(Train({}), kExitDone) << output();
  EXPECT_THAT(output(), HasSubstr("note: the model makes one slice"));
  EXPECT_TRUE(fs::exists(Path("run/logs/server-0.log")));
  EXPECT_FALSE(fs::exists(Path("run/logs/server-1.log")));
  EXPECT_EQ(Train({"--check", "--set=cluster.num_servers=2"}), kExitConfig);
  EXPECT_THAT(output(), HasSubstr("makes only 1 slices of weights"));
}

// Processes read a job with every section in it.
TEST_F(TrainCheck, SectionsThatNobodyWroteAreNotNoted) {
  ASSERT_EQ(Train({"--set=training.max_iterations=2"}), kExitDone) << output();
  const absl::StatusOr<std::string> log =
      ReadFile(Path("run/logs/worker-0.log"));
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_THAT(*log, AllOf(HasSubstr("2 iterations"), Not(HasSubstr("effect"))));
}

TEST_F(TrainCheck, WhatIsWrongIsSaidOnceAndNothingIsLeft) {
  const struct {
    std::vector<std::string> settings;
    std::string message;
  } cases[] = {
      {{"--set=data.name=mnist", "--set=data.directory=/nope"},
       "gradsieve train: data.directory: cannot read /nope: No such file"},
      {{"--set=model.name=lstm_lm"},
       "a language model needs a data set of text; data.name is \"digits\""},
      {{"--set=downlink.mode=COMPRESSED"},
       "downlink.compressor.name is \"none\"; must leave"},
      {{"--set=model.initial_weights=/nope.safetensors"},
       "gradsieve train: model.initial_weights: cannot open /nope.safetensors"},
      {{"--set=cluster.num_workers=300"},
       "300 workers with a batch of 8 need more than the 200 examples"},
  };
  for (const auto& a_case : cases) {
    for (const bool check : {true, false}) {
      std::vector<std::string> arguments = a_case.settings;
      if (check) arguments.push_back("--check");
      EXPECT_EQ(Train(arguments), kExitConfig) << output();
      const size_t first = output().find(a_case.message);
      EXPECT_NE(first, std::string::npos) << output();
      EXPECT_EQ(output().find(a_case.message, first + 1), std::string::npos)
          << output();
    }
  }
  EXPECT_THAT(Names(""), ElementsAre("job.textproto"));
}

TEST_F(TrainCheck, ABatchTooSmallForItsLayersIsFound) {
  std::string job = kShortJob;
  const std::string model = "name: \"mlp\" mlp { hidden_units: 8 }";
  job.replace(
      job.find(model), model.size(),
      "name: \"layers\" layers { layer { flatten {} } layer { batch_norm {} } "
      "layer { linear {} } }");
  std::ofstream(Path("job.textproto")) << job;
  EXPECT_EQ(Train({"--check"}), kExitDone) << output();
  EXPECT_EQ(Train({"--check", "--set=training.batch_size=1"}), kExitConfig);
  EXPECT_THAT(output(),
              HasSubstr("training.batch_size is 1: 1: batch "
                        "normalisation of [1, 784]: one value in each "
                        "channel has no variance to train with"));
}

TEST_F(TrainCheck, AFolderTooLongForSocketsIsNamed) {
  const std::string folder = Path(std::string(90, 'x'));
  ASSERT_TRUE(fs::create_directory(folder));
  setenv("TMPDIR", folder.c_str(), 1);
  EXPECT_EQ(Train({}), kExitFailed) << output();
  unsetenv("TMPDIR");
  EXPECT_THAT(output(), HasSubstr(folder));
  EXPECT_THAT(output(),
              HasSubstr("set TMPDIR to a folder with a shorter path"));
  EXPECT_FALSE(fs::exists(Path("run")));
}

TEST_F(TrainCheck, WeightsOfAnotherNetworkAreListed) {
  ASSERT_EQ(Train({"--set=checkpoint.every=0"}), kExitDone) << output();
  EXPECT_EQ(
      Gradsieve(
          {"train", Path("job.textproto"), "--run-dir=" + Path("again"),
           "--set=model.mlp.hidden_units=9",
           "--set=model.initial_weights=" + Path("run/weights.safetensors")}),
      kExitConfig);
  EXPECT_THAT(output(), AllOf(HasSubstr("must have shape [9, 784]"),
                              Not(HasSubstr("server-0"))));
}

TEST_F(TrainCheck, AProcessNeedsItsNumber) {
  EXPECT_EQ(RunProcess("server", {}), kExitUsage);
  EXPECT_THAT(said_, HasSubstr("--index=I is missing: which server this is"));
  EXPECT_EQ(RunProcess("worker", {}), kExitUsage);
  EXPECT_THAT(said_, HasSubstr("--rank=R is missing: which worker this is"));
}

TEST_F(TrainCheck, ServersAndWorkersCanBeChecked) {
  EXPECT_EQ(RunProcess("server", {"--index=0", "--check"}), kExitDone) << said_;
  EXPECT_THAT(said_, HasSubstr("server 0 can start at unix:"));
  // It has not kept its address.
  EXPECT_EQ(RunProcess("server", {"--index=0", "--check"}), kExitDone) << said_;
  EXPECT_EQ(RunProcess("server", {"--index=1", "--check"}), kExitConfig);
  EXPECT_EQ(RunProcess("worker", {"--rank=1", "--check"}), kExitDone) << said_;
  EXPECT_THAT(said_,
              HasSubstr("worker 1 can begin: mlp with 6,370 parameters"));
  EXPECT_EQ(RunProcess("worker", {"--rank=2", "--check"}), kExitConfig);
  EXPECT_THAT(said_, HasSubstr("this job has ranks 0 to 1"));
  EXPECT_EQ(
      RunProcess("worker", {"--rank=1", "--check", "--set=data.name=mnist",
                            "--set=data.directory=/nope"}),
      kExitConfig);
  EXPECT_THAT(said_,
              HasSubstr("data.directory: cannot read /nope: No such file"));
}

// A job with snapshots finds its run again, whatever folder it is started in.
TEST_F(TrainCheck, AWorkerByHandRecordsItsRun) {
  const std::vector<std::string> settings = {
      address_, "--config=" + Path("job.textproto"),
      "--set=cluster.num_workers=1", "--set=checkpoint.every=10",
      "--set=checkpoint.directory=" + Path("snapshots")};
  std::vector<std::string> server = {ProgramPath("server/server"), "--index=0"};
  server.insert(server.end(), settings.begin(), settings.end());
  TestProcess serving(server, Path("server_output"));
  EXPECT_EQ(RunProcess("worker", {settings.begin() + 2, settings.end()}),
            kExitUsage);
  std::vector<std::string> more = {settings.begin() + 2, settings.end()};
  more.push_back("--rank=0");
  EXPECT_EQ(RunProcess("worker", more), kExitDone) << said_;
  EXPECT_THAT(
      said_, HasSubstr("worker 0 records the run in " + Path("snapshots/run")));
  EXPECT_EQ(serving.WaitForExit(absl::Seconds(100)), kExitDone)
      << serving.Output();
  for (const char* file :
       {"weights.safetensors", "metrics.jsonl", "summary.json"}) {
    EXPECT_TRUE(fs::exists(Path("snapshots/run/") + file)) << file;
  }
}

}  // namespace
}  // namespace ps
