// A job goes on from a snapshot with another number of workers.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "storage/snapshot.h"
#include "tests/cluster/in_process_cluster.h"
#include "tests/cluster/resumed_jobs.h"
#include "tests/storage/memory_files.h"
#include "tools/checkpoint/change_workers.h"
#include "worker/saved_worker.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OtherWorkers : public ResumeEveryJob {};
class OtherWorkersOnce : public Resume {};

INSTANTIATE_TEST_SUITE_P(, OtherWorkers, testing::ValuesIn(ResumedJobs()),
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

TEST_P(OtherWorkers, GoOnAtTheSamePlace) {
  JobConfig job = Job(GetParam().overrides, GetParam().rates);
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
    if (!GetParam().other_workers) {
      EXPECT_EQ(changed.status().code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_THAT(std::string(changed.status().message()),
                  HasSubstr("the number of workers is 2 and must stay so"));
      continue;
    }
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
    // One of the jobs stops early, after its third evaluation.
    EXPECT_EQ(run.workers[0]->totals.iterations,
              job.training().early_stopping().patience() > 0
                  ? 9
                  : job.training().max_iterations());
    for (const auto& worker : run.workers) {
      EXPECT_EQ(worker->weights, run.workers[0]->weights);
    }
    const auto again = ChangeWorkers(Files::Real(), copy, workers);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->from_workers, workers);
  }
}

TEST_F(OtherWorkersOnce, ReadTheSameEpochs) {
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

TEST_F(OtherWorkersOnce, MayBeInterruptedAnywhere) {
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

TEST_F(OtherWorkersOnce, NeedASnapshotThatIsWhole) {
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

// Servers' logs are about what came after the snapshot.
TEST_F(OtherWorkersOnce, DoNotGoFurtherBackForADamagedLog) {
  ExpectStopped(RunClusterUntil(
      Job({}), "", [](int push) { return push == kStopBeforePush; }));
  const std::string directory = folder_ + "/checkpoints";
  int logs = 0;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (!absl::StartsWith(entry.path().filename().string(), "log-")) continue;
    ++logs;
    fs::resize_file(entry.path(), fs::file_size(entry.path()) / 2);
    std::ofstream(entry.path(), std::ios::app) << std::string(1000, 'x');
  }
  ASSERT_GT(logs, 0);
  const auto changed = ChangeWorkers(Files::Real(), directory, 3);
  ASSERT_TRUE(changed.ok()) << changed.status();
  EXPECT_EQ(changed->from_number, 8);
}

TEST_F(OtherWorkersOnce, RefuseProgressThatCannotBeTheirs) {
  ExpectStopped(RunClusterUntil(
      Job({}), "", [](int push) { return push == kStopBeforePush; }));
  const std::string directory = folder_ + "/checkpoints";
  const std::string folder = directory + "/worker-0";
  const auto snapshot = OpenSnapshot(Files::Real(), folder, 8);
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  RunTotalsCounter totals(2, 1);
  auto progress = LoadProgress(
      ReadPart(Files::Real(), *snapshot, kProgressPart).value(), &totals);
  ASSERT_TRUE(progress.ok()) << progress.status();
  const TrainingSet set = progress->set;
  for (const auto& [push, examples, code] :
       {std::tuple{7, set.num_examples, absl::StatusCode::kDataLoss},
        std::tuple{1 << 30, set.num_examples, absl::StatusCode::kDataLoss},
        std::tuple{8, int64_t{0}, absl::StatusCode::kInvalidArgument}}) {
    progress->point.push = push;
    progress->set.num_examples = examples;
    auto writer = SnapshotWriter::Create(Files::Real(), folder, 8);
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE(
        writer->Add(kProgressPart, SaveProgress(*progress, totals)).ok());
    ASSERT_TRUE(writer->Commit(snapshot->note).ok());
    const absl::Status refused =
        ChangeWorkers(Files::Real(), directory, 3).status();
    EXPECT_EQ(refused.code(), code) << refused;
  }
}

TEST_F(OtherWorkersOnce, ThatDriftApartStayAsManyAsTheyAre) {
  const JobConfig job = Job({"consistency.mode=ASYNCHRONOUS"});
  ASSERT_TRUE(RunCluster(job).ok());
  const absl::Status refused =
      ChangeWorkers(Files::Real(), folder_ + "/checkpoints", 3).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("SYNCHRONOUS"));
  EXPECT_TRUE(fs::exists(folder_ + "/checkpoints/worker-1/snapshot-10"));
}

}  // namespace
}  // namespace ps
