// Jobs that end before their last iteration, because evaluations no longer
// improve.
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config.h"
#include "common/file.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cluster/in_process_cluster.h"

namespace ps {
namespace {

namespace fs = std::filesystem;

// Evaluates after 4, 8, 12, ... iterations. No accuracy is better by 1 than the
// first one.
JobConfig Job(int patience, const std::string& model = "lenet5") {
  JobConfig job = SmallJob(/*num_workers=*/3, /*num_servers=*/2);
  job.mutable_model()->set_name(model);
  TrainingConfig* const training = job.mutable_training();
  training->set_batch_size(4);
  training->set_max_iterations(22);
  training->set_evaluate_every_iterations(4);
  training->mutable_early_stopping()->set_patience(patience);
  training->mutable_early_stopping()->set_min_delta(1);
  return job;
}

nlohmann::json Summary(const std::string& run) {
  const auto text = ReadFile(run + "/summary.json");
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? nlohmann::json::parse(*text) : nlohmann::json();
}

class EarlyStoppingJob : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }

  const std::string folder_ = testing::TempDir() + "/early_stopping_test";
};

// They have the bits of a job whose length is that number of iterations.
TEST_F(EarlyStoppingJob, AllWorkersEndAfterTheSamePush) {
  for (const std::string model : {"lenet5", "resnet20"}) {
    SCOPED_TRACE(model);
    const JobConfig job = Job(/*patience=*/2, model);
    const ClusterRun stopped = RunCluster(job, folder_);
    ASSERT_TRUE(stopped.ok()) << stopped.workers[0].status();
    JobConfig short_job = job;
    short_job.mutable_training()->set_max_iterations(12);
    short_job.mutable_training()->clear_early_stopping();
    const ClusterRun whole = RunCluster(short_job);
    ASSERT_TRUE(whole.ok()) << whole.workers[0].status();
    for (int rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(stopped.workers[rank]->totals.iterations, 12);
      EXPECT_EQ(stopped.workers[rank]->weights, whole.workers[0]->weights);
      EXPECT_EQ(stopped.workers[rank]->statistics,
                whole.workers[0]->statistics);
    }
    EXPECT_EQ(stopped.workers[0]->evaluation.loss,
              whole.workers[0]->evaluation.loss);
    const nlohmann::json summary = Summary(folder_);
    EXPECT_EQ(summary["stopped_early"], true);
    EXPECT_EQ(summary["iterations"], 12);
    // The votes are messages, too.
    EXPECT_GT(stopped.workers[0]->totals.bytes_up,
              whole.workers[0]->totals.bytes_up);
  }
}

TEST_F(EarlyStoppingJob, TrainsToTheEndWhileItsPatienceLasts) {
  // The last evaluation is the fifth without an improvement.
  for (const int patience : {5, 100}) {
    const ClusterRun run = RunCluster(Job(patience), folder_);
    ASSERT_TRUE(run.ok()) << run.workers[0].status();
    EXPECT_EQ(run.workers[2]->totals.iterations, 22);
    EXPECT_EQ(Summary(folder_)["stopped_early"], false);
  }
}

TEST_F(EarlyStoppingJob, IsDoneWhenItHasStopped) {
  JobConfig job = Job(/*patience=*/1);
  job.mutable_checkpoint()->set_every(3);
  job.mutable_checkpoint()->set_directory(folder_);
  const ClusterRun run = RunCluster(job);
  ASSERT_TRUE(run.ok()) << run.workers[0].status();
  EXPECT_EQ(run.workers[0]->totals.iterations, 8);
  for (const char* process :
       {"server-0-of-2", "server-1-of-2", "worker-0", "worker-2"}) {
    EXPECT_TRUE(fs::exists(absl::StrCat(folder_, "/", process, "/done")))
        << process;
  }
}

}  // namespace
}  // namespace ps
