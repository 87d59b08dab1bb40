// A job that ends after a snapshot and goes on has the same bits as one that
// was never interrupted.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/config.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "server/server.h"
#include "tests/cluster/in_process_cluster.h"
#include "tests/storage/memory_files.h"
#include "tools/checkpoint/change_workers.h"
#include "tools/checkpoint/reshard.h"
#include "worker/saved_worker.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kEvery = 5;
constexpr int kStopBeforePush = 7;

class Resume : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }

  JobConfig Job(const std::vector<std::string>& overrides) const {
    JobConfig job = SmallJob(/*num_workers=*/2, /*num_servers=*/2);
    // At least as many slices as servers.
    job.mutable_cluster()->set_max_slice_elements(10000);
    for (const std::string& text : overrides) {
      const absl::Status set = ApplyOverride(text, &job);
      EXPECT_TRUE(set.ok()) << set;
    }
    const absl::Status valid = ValidateConfig(job);
    EXPECT_TRUE(valid.ok()) << valid;
    job.mutable_checkpoint()->set_every(kEvery);
    job.mutable_checkpoint()->set_directory(folder_ + "/checkpoints");
    return job;
  }

  static void ExpectSameBits(const ClusterRun& run, const ClusterRun& other) {
    ASSERT_TRUE(run.ok()) << run.workers[0].status() << run.servers[0];
    ASSERT_TRUE(other.ok()) << other.workers[0].status() << other.servers[0];
    for (size_t rank = 0; rank < run.workers.size(); ++rank) {
      EXPECT_EQ(run.workers[rank]->weights, other.workers[rank]->weights);
      EXPECT_EQ(run.workers[rank]->statistics, other.workers[rank]->statistics);
    }
  }

  // Why the job did not begin. The others may only have heard of that.
  static std::string Refusal(const ClusterRun& run) {
    for (const auto& worker : run.workers) {
      if (absl::IsFailedPrecondition(worker.status())) {
        return std::string(worker.status().message());
      }
    }
    return "not refused";
  }

  static void ExpectStopped(const ClusterRun& run, int push = 8) {
    for (const auto& worker : run.workers) {
      EXPECT_TRUE(absl::IsUnavailable(worker.status())) << worker.status();
      EXPECT_THAT(std::string(worker.status().message()),
                  HasSubstr(absl::StrCat("asked to end after push ", push)));
    }
    for (const absl::Status& server : run.servers) {
      EXPECT_TRUE(absl::IsUnavailable(server)) << server;
    }
  }

  // As if everything had been killed before the job was done.
  void ForgetTheEnd() const {
    for (const auto& process :
         fs::directory_iterator(folder_ + "/checkpoints")) {
      fs::remove(process.path() / "done");
    }
  }

  const std::string folder_ = testing::TempDir() + "/resume_test";
};

struct Case {
  std::string name;
  std::vector<std::string> overrides;
};

class ResumeEveryJob : public Resume,
                       public testing::WithParamInterface<Case> {};

TEST_P(ResumeEveryJob, NeitherAStopNorOtherServersChangeABit) {
  JobConfig undisturbed = Job(GetParam().overrides);
  undisturbed.mutable_checkpoint()->set_every(0);
  const ClusterRun whole = RunCluster(undisturbed);
  JobConfig job = Job(GetParam().overrides);
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

std::vector<Case> Cases() {
  const std::vector<std::string> delta = {"optimizer.name=sgd",
                                          "optimizer.learning_rate=1",
                                          "optimizer.weight_decay=0",
                                          "worker_optimizer.name=momentum",
                                          "worker_optimizer.learning_rate=0.05",
                                          "worker_optimizer.momentum=0.9"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), delta.begin(), delta.end());
    return more;
  };
  const std::vector<std::string> sidco = {"compressor.name=sidco_e",
                                          "compressor.ratio=0.01"};
  return {
      {"None", {}},
      {"DeltaWithSidco",
       with({"compressor.name=sidco_e", "compressor.ratio=0.01",
             "compressor.value_code=int8_block"})},
      {"DeltaWithAdamwAndLocalSteps",
       {"optimizer.name=nesterov", "optimizer.learning_rate=0.7",
        "optimizer.momentum=0.9", "optimizer.weight_decay=0",
        "worker_optimizer.name=adamw", "worker_optimizer.learning_rate=0.002",
        "compressor.name=topk", "compressor.ratio=0.05",
        "consistency.local_steps=2", "training.max_iterations=24",
        "training.epochs=4"}},
      {"DgcWithCorrection",
       {"optimizer.name=sgd", "optimizer.weight_decay=0", "compressor.name=dgc",
        "compressor.ratio=0.01", "compressor.momentum_correction.momentum=0.9",
        "compressor.clip_norm=1", "downlink.mode=UPDATE"}},
      {"AdamWithCompressedAnswers",
       {"optimizer.name=adam", "optimizer.learning_rate=0.002",
        "compressor.name=sidco_e", "compressor.ratio=0.01",
        "downlink.mode=COMPRESSED", "downlink.compressor.name=randomk",
        "downlink.compressor.ratio=0.05"}},
      {"LambWithRandomK",
       {"optimizer.name=lamb", "optimizer.learning_rate=0.01",
        "compressor.name=randomk", "compressor.ratio=0.05"}},
      {"NovogradWithPowerSgd",
       {"optimizer.name=novograd", "optimizer.learning_rate=0.01",
        "compressor.name=powersgd"}},
      {"StatisticsOfBatches",
       {"model.name=resnet20", "training.batch_size=4",
        "compressor.name=sidco_e", "compressor.ratio=0.01"}},
      {"Bf16Answers", {"downlink.value_code=bf16"}},
      {"QuantizedWithRandomBits",
       {"compressor.name=topk", "compressor.ratio=0.05",
        "compressor.value_code=qsgd", "compressor.values.bits=8"}},
  };
}

INSTANTIATE_TEST_SUITE_P(, ResumeEveryJob, testing::ValuesIn(Cases()),
                         [](const auto& test) { return test.param.name; });

// What all workers have not sent yet, as the mean over them.
std::vector<double> MeanResidual(const std::string& directory, int num_workers,
                                 int64_t number) {
  std::vector<double> mean;
  for (int rank = 0; rank < num_workers; ++rank) {
    const auto bytes =
        ReadFile(absl::StrCat(directory, "/worker-", rank, "/snapshot-", number,
                              "/", kResidualsPart));
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    const auto residuals = LoadResiduals(bytes.value_or(""));
    EXPECT_TRUE(residuals.ok()) << residuals.status();
    mean.resize(residuals->size());
    for (size_t i = 0; i < mean.size(); ++i) {
      mean[i] += (*residuals)[i] / num_workers;
    }
  }
  return mean;
}

TEST_P(ResumeEveryJob, OtherWorkersGoOnAtTheSamePlace) {
  JobConfig job = Job(GetParam().overrides);
  ExpectStopped(RunClusterUntil(
      job, "", [](int push) { return push == kStopBeforePush; }));
  const std::vector<double> unsent =
      MeanResidual(folder_ + "/checkpoints", 2, 8);
  double rounding = 0;
  for (const double x : unsent) {
    rounding = std::max(rounding, 1e-6 * std::abs(x));
  }
  for (const int workers : {1, 3, 4}) {
    SCOPED_TRACE(workers);
    const std::string copy = absl::StrCat(folder_, "/", workers, "-workers");
    fs::copy(folder_ + "/checkpoints", copy, fs::copy_options::recursive);
    const auto changed = ChangeWorkers(Files::Real(), copy, workers);
    ASSERT_TRUE(changed.ok()) << changed.status();
    EXPECT_EQ(changed->from_workers, 2);
    EXPECT_EQ(changed->from_number, 8);
    // Its length is given in iterations, and does not depend on the workers.
    EXPECT_EQ(changed->number, 8);
    const std::vector<double> after = MeanResidual(copy, workers, 8);
    ASSERT_EQ(after.size(), unsent.size());
    for (size_t i = 0; i < after.size(); ++i) {
      ASSERT_NEAR(after[i], unsent[i], rounding) << i;
    }
    JobConfig other = job;
    other.mutable_cluster()->set_num_workers(workers);
    other.mutable_checkpoint()->set_directory(copy);
    const ClusterRun run = RunCluster(other);
    ASSERT_TRUE(run.ok()) << run.workers[0].status() << run.servers[0];
    EXPECT_EQ(run.workers[0]->totals.iterations,
              job.training().max_iterations());
    for (const auto& worker : run.workers) {
      EXPECT_EQ(worker->weights, run.workers[0]->weights);
    }
    const auto again = ChangeWorkers(Files::Real(), copy, workers);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->from_workers, workers);
  }
}

TEST_F(Resume, OtherWorkersReadTheSameEpochs) {
  JobConfig job = Job({"training.max_iterations=0", "training.epochs=3",
                       "model.name=resnet20", "training.batch_size=4",
                       "data.digits.train_examples=83"});
  // 10 iterations an epoch; one whole epoch and a half.
  ExpectStopped(RunClusterUntil(job, "", [](int push) { return push == 14; }),
                15);
  const std::string directory = folder_ + "/checkpoints";
  const auto changed = ChangeWorkers(Files::Real(), directory, 1);
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(changed->from_number, 15);
  EXPECT_EQ(changed->number, 30);
  job.mutable_cluster()->set_num_workers(1);
  const ClusterRun run = RunCluster(job, folder_ + "/run");
  ASSERT_TRUE(run.ok()) << run.workers[0].status() << run.servers[0];
  EXPECT_EQ(run.workers[0]->totals.iterations, 60);
  // The first evaluation has been made before.
  const auto metrics = ReadFile(folder_ + "/run/metrics.jsonl");
  ASSERT_TRUE(metrics.ok());
  std::vector<double> epochs;
  for (const absl::string_view line : absl::StrSplit(*metrics, '\n')) {
    if (!absl::StrContains(line, "\"event\":\"evaluation\"")) continue;
    epochs.push_back(nlohmann::json::parse(std::string(line)).at("epoch"));
  }
  EXPECT_THAT(epochs, ElementsAre(2, 3));
}

TEST_F(Resume, AChangeOfWorkersMayBeInterruptedAnywhere) {
  const JobConfig job = Job({});
  ExpectStopped(RunClusterUntil(
      job, "", [](int push) { return push == kStopBeforePush; }));
  const std::string directory = folder_ + "/checkpoints";
  const auto copy = [&](Files* files) {
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
      if (!entry.is_regular_file()) continue;
      const auto bytes = ReadFile(entry.path());
      auto file = files->Create(entry.path());
      ASSERT_TRUE(bytes.ok() && file.ok());
      ASSERT_TRUE((*file)->Append({*bytes}).ok() && (*file)->Sync().ok());
    }
  };
  const auto paths = [](MemoryFiles* files) {
    std::set<std::string> names;
    for (const auto& entry : files->contents()) {
      if (!absl::EndsWith(entry.first, "/lock")) names.insert(entry.first);
    }
    return names;
  };
  MemoryFiles undisturbed;
  copy(&undisturbed);
  ASSERT_TRUE(ChangeWorkers(&undisturbed, directory, 3).ok());
  bool interrupted = true;
  int changes = 0;
  for (; interrupted; ++changes) {
    MemoryFiles files;
    copy(&files);
    files.FailAfter(changes);
    interrupted = !ChangeWorkers(&files, directory, 3).ok();
    files.StopFailing();
    files.LosePower();
    const auto again = ChangeWorkers(&files, directory, 3);
    ASSERT_TRUE(again.ok()) << "after " << changes << ": " << again.status();
    EXPECT_FALSE(HasOtherWorkers(&files, directory, 3)) << changes;
    EXPECT_EQ(paths(&files), paths(&undisturbed)) << changes;
    EXPECT_EQ(again->number, 8);
  }
  EXPECT_GT(changes, 20);
}

TEST_F(Resume, OtherWorkersNeedASnapshotThatIsWhole) {
  const JobConfig job = Job({});
  ASSERT_TRUE(RunCluster(job).ok());
  const std::string directory = folder_ + "/checkpoints";
  fs::resize_file(directory + "/worker-1/snapshot-10/residuals", 100);
  // An older one is.
  const std::string copy = folder_ + "/copy";
  fs::copy(directory, copy, fs::copy_options::recursive);
  const auto older = ChangeWorkers(Files::Real(), copy, 3);
  ASSERT_TRUE(older.ok()) << older.status();
  EXPECT_EQ(older->from_number, 5);
  fs::remove_all(directory + "/server-1-of-2/snapshot-5");
  const absl::Status refused =
      ChangeWorkers(Files::Real(), directory, 3).status();
  EXPECT_TRUE(absl::IsNotFound(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("worker-1/snapshot-10/residuals is damaged"),
                    HasSubstr("snapshot 5 lacks the part of server-1-of-2")));
  EXPECT_TRUE(fs::exists(directory + "/worker-0/snapshot-10"));
}

TEST_F(Resume, WorkersThatDriftApartStayAsManyAsTheyAre) {
  const JobConfig job = Job({"consistency.mode=ASYNCHRONOUS"});
  ASSERT_TRUE(RunCluster(job).ok());
  const absl::Status refused =
      ChangeWorkers(Files::Real(), folder_ + "/checkpoints", 3).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("SYNCHRONOUS"));
  EXPECT_TRUE(fs::exists(folder_ + "/checkpoints/worker-1/snapshot-10"));
}

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
      trainer.config.mutable_cluster()->add_servers(
          absl::StrCat("127.0.0.1:", (*server)->port()));
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
  EXPECT_EQ(*ReadFile(run + "/best.safetensors") ==
                *ReadFile(run + "/weights.safetensors"),
            last_is_best);
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
  trainer.config.mutable_cluster()->add_servers(
      absl::StrCat("127.0.0.1:", (*server)->port()));
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
