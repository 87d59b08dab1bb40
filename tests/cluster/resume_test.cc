// A job that ends after a snapshot and goes on has the same bits as one that
// was never interrupted.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/config.h"
#include "common/file.h"
#include "formats/safetensors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "server/server.h"
#include "tests/cluster/in_process_cluster.h"
#include "tests/cluster/resumed_jobs.h"
#include "tools/checkpoint/reshard.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_P(ResumeEveryJob, NeitherAStopNorOtherServersChangeABit) {
  JobConfig undisturbed = Job(GetParam().overrides, GetParam().rates);
  undisturbed.mutable_checkpoint()->set_every(0);
  const ClusterRun whole = RunCluster(undisturbed);
  JobConfig job = Job(GetParam().overrides, GetParam().rates);
  ExpectStopped(RunClusterUntil(
      job, "", [](int push) { return push == kStopBeforePush; }));
  for (const int servers : {1, 3, 5}) {
    const std::string copy = absl::StrCat(folder_, "/", servers, "-servers");
    fs::copy(folder_ + "/checkpoints", copy, fs::copy_options::recursive);
    const auto resharded = ReshardServers(Files::Real(), copy, servers);
    ASSERT_TRUE(resharded.ok()) << resharded.status();
    EXPECT_THAT(resharded->numbers, ElementsAre(0, 5, 8));
    JobConfig other = job;
    other.mutable_cluster()->set_num_servers(servers);
    other.mutable_checkpoint()->set_directory(copy);
    SCOPED_TRACE(servers);
    ExpectSameBits(RunCluster(other), whole);
  }
  ExpectSameBits(RunCluster(job), whole);
}

INSTANTIATE_TEST_SUITE_P(, ResumeEveryJob, testing::ValuesIn(ResumedJobs()),
                         [](const auto& test) { return test.param.name; });

TEST_F(Resume, WhoComesToAJobThatIsDoneIsTold) {
  JobConfig job = Job({"cluster.num_workers=1"});
  const ClusterRun first = RunCluster(job);
  ASSERT_TRUE(first.ok()) << first.workers[0].status();
  for (const bool both : {true, false}) {
    // One was killed before it knew.
    if (!both) fs::remove(folder_ + "/checkpoints/server-1-of-2/done");
    TrainerOptions trainer;
    trainer.config = job;
    trainer.incarnation = 1;
    trainer.name = "test:1";
    std::vector<std::unique_ptr<Server>> servers;
    for (int index = 0; index < 2; ++index) {
      ServerOptions options;
      options.config = job;
      options.index = index;
      options.listen = "127.0.0.1:0";
      auto server = Server::Start(options);
      ASSERT_TRUE(server.ok()) << server.status();
      trainer.config.mutable_cluster()->add_servers((*server)->address());
      servers.push_back(*std::move(server));
    }
    std::thread other([&] { EXPECT_EQ(servers[1]->Wait().ok(), !both); });
    const absl::Status told = Train(trainer).status();
    EXPECT_TRUE(absl::IsCancelled(told)) << told;
    EXPECT_THAT(std::string(told.message()), HasSubstr("done already"));
    if (both) servers[1]->Stop(absl::AbortedError("the test is over"));
    other.join();
  }
}

TEST_F(Resume, AWorkerOfAJobThatIsDoneDoesNotSearchItsServersForEver) {
  const JobConfig job =
      Job({"cluster.num_workers=1", "cluster.startup_timeout_seconds=2"});
  ASSERT_TRUE(RunCluster(job).ok());
  TrainerOptions trainer;
  trainer.config = job;
  trainer.incarnation = 1;
  trainer.name = "test:1";
  // Nobody listens there.
  for (int index = 0; index < 2; ++index) {
    trainer.config.mutable_cluster()->add_servers("127.0.0.1:1");
  }
  const absl::Status told = Train(trainer).status();
  EXPECT_TRUE(absl::IsCancelled(told)) << told;
  EXPECT_THAT(std::string(told.message()), HasSubstr("servers are gone"));
  fs::remove(folder_ + "/checkpoints/worker-0/done");
  EXPECT_TRUE(absl::IsDeadlineExceeded(Train(trainer).status()));
}

TEST_F(Resume, MetricsAreContinued) {
  const JobConfig job = Job({});
  const std::string run = folder_ + "/run";
  ExpectStopped(RunClusterUntil(
      job, run, [](int push) { return push == kStopBeforePush; }));
  // As if training had gone on after the snapshot.
  std::ofstream(run + "/metrics.jsonl", std::ios::app) << "{\"event\": ";
  ASSERT_TRUE(RunCluster(job, run).ok());
  const absl::StatusOr<std::string> metrics = ReadFile(run + "/metrics.jsonl");
  ASSERT_TRUE(metrics.ok());
  int iterations = 0;
  for (const absl::string_view line : absl::StrSplit(*metrics, '\n')) {
    if (!absl::StrContains(line, "\"event\":\"iteration\"")) continue;
    ++iterations;
    EXPECT_THAT(std::string(line),
                HasSubstr(absl::StrCat("\"iteration\":", iterations, ",")));
  }
  EXPECT_EQ(iterations, job.training().max_iterations());
}

TEST_F(Resume, TheBestWeightsAreKept) {
  JobConfig job = Job({"training.max_iterations=124", "training.epochs=4",
                       "checkpoint.keep_best=true"});
  const std::string run = folder_ + "/run";
  const ClusterRun trained = RunCluster(job, run);
  ASSERT_TRUE(trained.ok()) << trained.workers[0].status();
  const auto metrics = ReadFile(run + "/metrics.jsonl");
  ASSERT_TRUE(metrics.ok());
  std::vector<double> accuracies;
  for (const absl::string_view line : absl::StrSplit(*metrics, '\n')) {
    if (!absl::StrContains(line, "\"event\":\"evaluation\"")) continue;
    accuracies.push_back(
        nlohmann::json::parse(std::string(line)).at("test_accuracy"));
  }
  ASSERT_EQ(accuracies.size(), 4u);
  const bool last_is_best =
      std::max_element(accuracies.begin(), accuracies.end() - 1)[0] <
      accuracies.back();
  // They differ in what they say of themselves.
  const auto values = [&](const std::string& name) {
    std::vector<float> all;
    const Safetensors read = ReadSafetensors(run + name).value();
    for (const SafetensorsTensor& tensor : read.tensors) {
      all.insert(all.end(), tensor.values.begin(), tensor.values.end());
    }
    return all;
  };
  EXPECT_EQ(values("/best.safetensors") == values("/weights.safetensors"),
            last_is_best);
  const auto file = ReadSafetensors(run + "/best.safetensors");
  ASSERT_TRUE(file.ok()) << file.status();
  const auto best = std::max_element(accuracies.begin(), accuracies.end());
  const std::string iteration =
      absl::StrCat(31 * (best - accuracies.begin() + 1));
  EXPECT_EQ(file->metadata.at("iteration"), iteration);
  const auto summary = [&] {
    return nlohmann::json::parse(ReadFile(run + "/summary.json").value());
  };
  const nlohmann::json said = summary().at("best");
  EXPECT_EQ(said.at("test_accuracy"), *best);
  EXPECT_EQ(absl::StrCat(said.at("iteration").get<int>()), iteration);
  EXPECT_EQ(said.at("epoch"), best - accuracies.begin() + 1);

  // Killed before the end, the job goes on from the snapshot at 120.
  ForgetTheEnd();
  const std::string bytes = *ReadFile(run + "/best.safetensors");
  ASSERT_TRUE(RunCluster(job, run).ok());
  EXPECT_EQ(*ReadFile(run + "/best.safetensors"), bytes);
  EXPECT_EQ(summary().at("best"), said);
  // Whoever has lost the file has that of the next evaluation.
  ForgetTheEnd();
  fs::remove(run + "/best.safetensors");
  ASSERT_TRUE(RunCluster(job, run).ok());
  EXPECT_EQ(summary().at("best").at("iteration"), 124);
}

TEST_F(Resume, MetricsThatCannotBeWrittenCostOnlyMetrics) {
  const std::string run = folder_ + "/run";
  ASSERT_TRUE(fs::create_directories(run));
  // A full disk.
  fs::create_symlink("/dev/full", run + "/metrics.jsonl");
  testing::internal::CaptureStderr();
  const ClusterRun trained = RunCluster(Job({}), run);
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(trained.ok()) << trained.workers[0].status();
  EXPECT_THAT(log, HasSubstr("metrics.jsonl"));
  EXPECT_THAT(log, HasSubstr("training goes on"));
  EXPECT_TRUE(fs::exists(run + "/weights.safetensors"));
}

TEST_F(Resume, WeightsThatCannotBeWrittenAreWrittenByAResumedJob) {
  const std::string run = folder_ + "/run";
  ASSERT_TRUE(fs::create_directories(run));
  fs::create_symlink("/dev/full", run + "/weights.safetensors");
  const JobConfig job = Job({});
  JobConfig undisturbed = job;
  undisturbed.mutable_checkpoint()->set_every(0);
  const ClusterRun whole = RunCluster(undisturbed);
  const ClusterRun first = RunCluster(job, run);
  const absl::Status failed = first.workers[0].status();
  // Starting again may help, also for whoever knows only the exit code.
  EXPECT_TRUE(absl::IsInternal(failed)) << failed;
  EXPECT_THAT(std::string(failed.message()),
              HasSubstr("No space left on device. Make room or mend it, and "
                        "start the job again: it goes on from its latest "
                        "snapshot"));
  fs::remove(run + "/weights.safetensors");
  ExpectSameBits(RunCluster(job, run), whole);
  EXPECT_TRUE(fs::is_regular_file(run + "/weights.safetensors"));
}

TEST_F(Resume, FoldersDeletedMeanwhileAreMadeAgain) {
  const JobConfig job = Job({});
  const ClusterRun whole = RunCluster(job);
  fs::remove_all(folder_);
  const std::string deleted = folder_ + "-deleted";
  const std::string run = folder_ + "/run";
  const auto delete_all = [&](int push) {
    if (push == kStopBeforePush) {
      // At one moment, so that nothing is written into it meanwhile.
      fs::remove_all(deleted);
      fs::rename(folder_, deleted);
    }
    return false;
  };
  ExpectSameBits(RunClusterUntil(job, run, delete_all), whole);
  EXPECT_TRUE(fs::exists(run + "/weights.safetensors"));
  for (const char* process :
       {"server-0-of-2", "server-1-of-2", "worker-0", "worker-1"}) {
    EXPECT_TRUE(
        fs::exists(folder_ + "/checkpoints/" + process + "/snapshot-10"))
        << process;
  }
  fs::remove_all(deleted);
}

TEST_F(Resume, GoesBackToTheLatestThatAllHave) {
  const JobConfig job = Job({});
  const ClusterRun whole = RunCluster(job);
  ForgetTheEnd();
  // As if everything had been killed while some were still writing.
  ASSERT_TRUE(fs::remove_all(folder_ + "/checkpoints/worker-1/snapshot-10"));
  ASSERT_TRUE(fs::exists(folder_ + "/checkpoints/server-1-of-2/snapshot-10"));
  ExpectSameBits(RunCluster(job), whole);
}

TEST_F(Resume, BeginsAnewIfOneWasKilledBeforeItsFirstSnapshot) {
  const JobConfig job = Job({});
  const ClusterRun whole = RunCluster(job);
  ForgetTheEnd();
  for (const int number : {5, 10}) {
    ASSERT_TRUE(fs::remove_all(
        absl::StrCat(folder_, "/checkpoints/worker-1/snapshot-", number)));
  }
  ASSERT_TRUE(fs::exists(folder_ + "/checkpoints/server-1-of-2/snapshot-10"));
  ExpectSameBits(RunCluster(job), whole);
  ForgetTheEnd();
  // Unlike one that has lost its folder.
  ASSERT_TRUE(fs::remove_all(folder_ + "/checkpoints/worker-1"));
  EXPECT_THAT(Refusal(RunCluster(job)),
              HasSubstr("no snapshot that all processes of the job have"));
}

TEST_F(Resume, DamageIsFoundAndTheOlderOneTaken) {
  const JobConfig job = Job({});
  const ClusterRun whole = RunCluster(job);
  ForgetTheEnd();
  const std::string part =
      folder_ + "/checkpoints/server-0-of-2/snapshot-10/slice-0-0";
  std::fstream file(part, std::ios::in | std::ios::out);
  ASSERT_TRUE(file.seekp(1000) && file.put('x') && file.flush());
  testing::internal::CaptureStderr();
  ExpectSameBits(RunCluster(job), whole);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr(part + " is damaged"));
}

TEST_F(Resume, NothingBeginsAnewWhereEverythingIsDamaged) {
  const JobConfig job = Job({});
  ASSERT_TRUE(RunCluster(job).ok());
  ForgetTheEnd();
  for (const char* process :
       {"server-0-of-2", "server-1-of-2", "worker-0", "worker-1"}) {
    for (const int number : {5, 10}) {
      fs::resize_file(absl::StrCat(folder_, "/checkpoints/", process,
                                   "/snapshot-", number, "/manifest"),
                      20);
    }
  }
  EXPECT_THAT(Refusal(RunCluster(job)),
              HasSubstr("worker 1 has 5 (damaged), 10 (damaged)"));
}

TEST_F(Resume, OneThatKeepsNothingIsRefused) {
  JobConfig job = Job({});
  ServerOptions options;
  options.config = job;
  options.config.mutable_checkpoint()->clear_directory();
  options.config.mutable_cluster()->set_num_servers(1);
  options.listen = "127.0.0.1:0";
  auto server = Server::Start(options);
  ASSERT_TRUE(server.ok()) << server.status();
  TrainerOptions trainer;
  trainer.config = job;
  trainer.config.mutable_cluster()->set_num_servers(1);
  trainer.config.mutable_cluster()->add_servers((*server)->address());
  trainer.incarnation = 1;
  trainer.name = "test:1";
  const absl::Status refused = Train(trainer).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("worker 0 (test:1) keeps snapshots"));
}

TEST_F(Resume, AMissingPartIsNamed) {
  const JobConfig job = Job({});
  ASSERT_TRUE(RunCluster(job).ok());
  ForgetTheEnd();
  ASSERT_TRUE(fs::remove_all(folder_ + "/checkpoints/worker-1"));
  const std::string message = Refusal(RunCluster(job));
  EXPECT_THAT(message, HasSubstr("worker 0 has 5, 10"));
  EXPECT_THAT(message, HasSubstr("server 1 has 5, 10"));
  EXPECT_THAT(message, testing::Not(HasSubstr("worker 1 has")));
}

// What the worker had not sent is lost, and only that: without compression
// nothing is.
TEST_F(Resume, ALostWorkerIsReplacedIfTheJobSaysSo) {
  for (const bool compress : {false, true}) {
    fs::remove_all(folder_);
    const JobConfig job =
        compress ? Job({"checkpoint.replace_lost_workers=true",
                        "compressor.name=topk", "compressor.ratio=0.01"})
                 : Job({"checkpoint.replace_lost_workers=true"});
    const ClusterRun whole = RunCluster(job);
    ASSERT_TRUE(whole.ok()) << whole.workers[0].status();
    for (const char* lost : {"worker-0", "worker-1"}) {
      ForgetTheEnd();
      ASSERT_TRUE(fs::remove_all(folder_ + "/checkpoints/" + lost));
      testing::internal::CaptureStderr();
      const ClusterRun run = RunCluster(job);
      EXPECT_THAT(testing::internal::GetCapturedStderr(),
                  HasSubstr(absl::StrCat("has no snapshot in ", folder_,
                                         "/checkpoints/", lost,
                                         ", and goes on after push 10")));
      ASSERT_TRUE(run.ok()) << run.workers[0].status();
      EXPECT_EQ(run.workers[0]->weights, run.workers[1]->weights);
      EXPECT_EQ(run.workers[0]->weights == whole.workers[0]->weights,
                !compress);
    }
  }
}

TEST_F(Resume, ALostWorkerBeginsAnewWithTheOthers) {
  const JobConfig job = Job({"checkpoint.replace_lost_workers=true"});
  const ClusterRun whole = RunCluster(job);
  ForgetTheEnd();
  for (const int number : {5, 10}) {
    ASSERT_TRUE(fs::remove_all(
        absl::StrCat(folder_, "/checkpoints/worker-0/snapshot-", number)));
  }
  ASSERT_TRUE(fs::remove_all(folder_ + "/checkpoints/worker-1"));
  ExpectSameBits(RunCluster(job), whole);
  EXPECT_TRUE(fs::exists(folder_ + "/checkpoints/worker-1/snapshot-10"));
}

TEST_F(Resume, AnotherJobIsRefused) {
  ASSERT_TRUE(RunCluster(Job({})).ok());
  ServerOptions options;
  options.config = Job({"optimizer.learning_rate=0.04"});
  options.listen = "127.0.0.1:0";
  const absl::Status refused = Server::Start(options).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("optimizer.learning_rate: 0.05 there and 0.04 here"));
}

TEST_F(Resume, WorkersThatDriftGoOn) {
  const JobConfig job =
      Job({"consistency.mode=STALE_SYNCHRONOUS", "consistency.staleness=2"});
  const ClusterRun whole = RunCluster(job);
  ForgetTheEnd();
  ASSERT_TRUE(whole.ok()) << whole.workers[0].status();
  const ClusterRun again = RunCluster(job);
  ASSERT_TRUE(again.ok()) << again.workers[0].status();
  EXPECT_EQ(again.workers[0]->totals.iterations,
            whole.workers[0]->totals.iterations);
}

}  // namespace
}  // namespace ps
