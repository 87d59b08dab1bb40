// Jobs in delta mode, whose workers own the optimizer and their own weights.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "common/config.h"
#include "compressors/compressor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/in_process_cluster.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

// The servers' optimizer of the job becomes that of the workers.
JobConfig DeltaJob(const JobConfig& job) {
  JobConfig delta = job;
  *delta.mutable_worker_optimizer() = job.optimizer();
  delta.clear_optimizer();
  return delta;
}

JobConfig JobWith(const std::string& optimizer, int num_workers,
                  int num_servers) {
  JobConfig job = SmallJob(num_workers, num_servers);
  job.mutable_optimizer()->set_name(optimizer);
  return job;
}

JobConfig SparseDeltaJob(int num_workers, int num_servers) {
  JobConfig job = DeltaJob(JobWith("momentum", num_workers, num_servers));
  job.mutable_compressor()->set_name("topk");
  job.mutable_compressor()->set_ratio(0.05);
  job.mutable_consistency()->set_digest_every(1);
  return job;
}

ClusterRun RunJob(const JobConfig& job) {
  EXPECT_TRUE(ValidateConfig(job).ok()) << ValidateConfig(job);
  ClusterRun run = RunCluster(job);
  EXPECT_TRUE(run.ok()) << run.workers[0].status();
  for (const auto& worker : run.workers) {
    EXPECT_EQ(worker->weights, run.workers[0]->weights);
  }
  return run;
}

double Distance(const ClusterRun& run, const ClusterRun& expected) {
  const std::vector<float>& a = run.workers[0]->weights;
  const std::vector<float>& b = expected.workers[0]->weights;
  double squares = 0;
  double norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    squares += std::pow(double{a[i]} - b[i], 2);
    norm += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(squares / norm);
}

double Accuracy(const ClusterRun& run) {
  return Metrics(run.workers[0]->evaluation).front().value;
}

class WithoutCompression : public testing::TestWithParam<std::string> {};

// The mean of the workers' momenta is the momentum of the mean gradient.
TEST_P(WithoutCompression, EqualsTheRuleAtTheServers) {
  JobConfig job = JobWith(GetParam(), 3, 2);
  job.mutable_schedule()->set_name("cosine");
  job.mutable_schedule()->set_warmup_updates(3);
  const ClusterRun servers = RunJob(job);
  EXPECT_LT(Distance(RunJob(DeltaJob(job)), servers), 2e-5);
}

INSTANTIATE_TEST_SUITE_P(LinearRules, WithoutCompression,
                         testing::Values("sgd", "momentum", "nesterov"));

// Only one worker's steps are those of the rule for any rule.
TEST(DeltaMode, OfOneWorkerEqualsEveryRuleAtTheServers) {
  for (const std::string rule : {"adam", "adamw", "adagrad"}) {
    SCOPED_TRACE(rule);
    JobConfig job = JobWith(rule, 1, 2);
    job.mutable_optimizer()->set_learning_rate(1e-3);
    EXPECT_LT(Distance(RunJob(DeltaJob(job)), RunJob(job)), 2e-5);
  }
}

TEST(DeltaMode, TrainsWithEveryCompressorAndRepeats) {
  for (const std::string& name : CompressorRegistry().Names()) {
    SCOPED_TRACE(name);
    JobConfig job = SparseDeltaJob(2, 2);
    job.mutable_compressor()->set_name(name);
    job.mutable_training()->set_bucket_megabytes(0.05);
    const ClusterRun run = RunJob(job);
    EXPECT_TRUE(std::isfinite(Accuracy(run)));
    if (FindCompressor(name).chooses_by_time) continue;
    EXPECT_EQ(RunJob(job).workers[0]->weights, run.workers[0]->weights);
  }
}

TEST(DeltaMode, TrainsWithCodedValues) {
  for (const std::string code : {"int8_block", "qsgdinf", "bf16"}) {
    SCOPED_TRACE(code);
    JobConfig job = SparseDeltaJob(2, 1);
    job.mutable_compressor()->set_value_code(code);
    if (code == "qsgdinf") {
      job.mutable_compressor()->mutable_values()->set_bits(8);
      job.mutable_compressor()->mutable_values()->set_bucket_size(64);
    }
    RunJob(job);
  }
}

// Servers change what was pushed alone, so that is all they send.
TEST(DeltaMode, SendsFewBytesBothWays) {
  JobConfig job = SparseDeltaJob(2, 2);
  job.mutable_compressor()->set_ratio(0.01);
  job.mutable_consistency()->set_digest_every(0);
  const RunTotals totals = RunJob(job).workers[0]->totals;
  EXPECT_LT(totals.bytes_up, 0.02 * totals.dense_bytes_up);
  EXPECT_LT(totals.bytes_down, 0.04 * totals.dense_bytes_down);
}

// With 8 bits for each value, both ways, less than half of what 32 bits take.
TEST(DeltaMode, SendsFewerBytesWithCodedValues) {
  JobConfig job = SparseDeltaJob(2, 2);
  job.mutable_compressor()->set_ratio(0.01);
  job.mutable_compressor()->set_value_code("int8_block");
  const RunTotals totals = RunJob(job).workers[0]->totals;
  EXPECT_LT(totals.bytes_up, 0.008 * totals.dense_bytes_up);
  EXPECT_LT(totals.bytes_down, 0.015 * totals.dense_bytes_down);
}

TEST(DeltaMode, TrainsWithEveryWayBack) {
  for (const auto mode : {DownlinkConfig::WEIGHTS, DownlinkConfig::UPDATE,
                          DownlinkConfig::COMPRESSED, DownlinkConfig::AUTO}) {
    SCOPED_TRACE(DownlinkConfig::Mode_Name(mode));
    JobConfig job = SparseDeltaJob(2, 2);
    job.mutable_downlink()->set_mode(mode);
    if (mode == DownlinkConfig::COMPRESSED) {
      job.mutable_downlink()->mutable_compressor()->set_name("topk");
    }
    RunJob(job);
  }
}

TEST(DeltaMode, TrainsInOtherModes) {
  for (const auto mode : {ConsistencyConfig::STALE_SYNCHRONOUS,
                          ConsistencyConfig::ASYNCHRONOUS}) {
    SCOPED_TRACE(ConsistencyConfig::Mode_Name(mode));
    JobConfig job = SparseDeltaJob(3, 2);
    job.mutable_consistency()->set_mode(mode);
    job.mutable_consistency()->set_digest_every(0);
    // The order of pushes differs from run to run, and matters less without
    // momentum.
    job.mutable_worker_optimizer()->set_name("sgd");
    job.mutable_worker_optimizer()->set_learning_rate(0.1);
    job.mutable_training()->set_max_iterations(240);
    job.mutable_training()->set_epochs(100);
    EXPECT_GT(Accuracy(RunJob(job)), 0.5);
  }
}

// A push that came too late goes back into the residual, and with it into the
// worker's own weights; digests check the servers'.
TEST(DeltaMode, GoesOnWithoutLateWorkers) {
  JobConfig job = SparseDeltaJob(3, 2);
  job.mutable_worker_optimizer()->set_name("sgd");
  job.mutable_training()->set_max_iterations(240);
  job.mutable_training()->set_epochs(100);
  job.mutable_consistency()->set_step_timeout_seconds(1e-4);
  job.mutable_consistency()->set_min_workers(2);
  const ClusterRun run = RunJob(job);
  int64_t dropped = 0;
  for (const auto& worker : run.workers) dropped += worker->totals.dropped;
  EXPECT_GT(dropped, 0);
  EXPECT_GT(Accuracy(run), 0.5);
}

// What is not sent is not lost: with few elements sent, the job learns about as
// well as with all of them.
TEST(DeltaMode, LearnsAsWellAsWithoutCompression) {
  JobConfig job = SparseDeltaJob(2, 1);
  job.mutable_training()->set_max_iterations(150);
  job.mutable_training()->set_epochs(100);
  job.mutable_schedule()->set_name("cosine");
  job.mutable_compressor()->set_name("sidco_e");
  job.mutable_compressor()->set_ratio(0.01);
  const double sparse = Accuracy(RunJob(job));
  job.mutable_compressor()->set_name("none");
  EXPECT_GT(sparse, Accuracy(RunJob(job)) - 0.03);
}

TEST(LocalSteps, OfOneWorkerArePlainTraining) {
  JobConfig job = JobWith("sgd", 1, 2);
  job.mutable_training()->set_max_iterations(11);
  const ClusterRun plain = RunJob(job);
  job = DeltaJob(job);
  job.mutable_consistency()->set_local_steps(4);
  const ClusterRun local = RunJob(job);
  EXPECT_LT(Distance(local, plain), 1e-5);
  // 3 pushes instead of 11.
  EXPECT_LT(local.workers[0]->totals.bytes_up,
            0.3 * plain.workers[0]->totals.bytes_up);
  EXPECT_EQ(local.workers[0]->totals.iterations, 11);
}

TEST(LocalSteps, OfSeveralWorkersLeaveTheSyncedRunBehind) {
  JobConfig job = SparseDeltaJob(3, 2);
  const ClusterRun plain = RunJob(job);
  job.mutable_consistency()->set_local_steps(3);
  EXPECT_GT(Distance(RunJob(job), plain), 1e-6);
}

// DiLoCo's setting, whose servers need more than what was pushed.
TEST(LocalSteps, GoWithMomentumAtTheServers) {
  JobConfig job = DeltaJob(JobWith("adamw", 2, 2));
  job.mutable_worker_optimizer()->set_learning_rate(1e-3);
  job.mutable_optimizer()->set_name("nesterov");
  job.mutable_optimizer()->set_learning_rate(0.7);
  job.mutable_optimizer()->set_momentum(0.9);
  job.mutable_consistency()->set_local_steps(3);
  job.mutable_consistency()->set_digest_every(1);
  RunJob(job);
}

TEST(DeltaMode, LeavesOutAGradientThatIsNotFinite) {
  JobConfig job = SparseDeltaJob(1, 1);
  job.mutable_worker_optimizer()->set_learning_rate(1e30);
  const ClusterRun failed = RunCluster(job);
  EXPECT_THAT(std::string(failed.workers[0].status().message()),
              HasSubstr("is not finite"));
}

// A resolved job means the same, also where a default depends on the mode.
TEST(DeltaMode, SurvivesResolving) {
  const JobConfig plain = SmallJob(2, 1);
  EXPECT_FALSE(ParseConfig(ResolvedConfigText(plain), "resolved")
                   ->has_worker_optimizer());
  const JobConfig delta =
      ParseConfig(ResolvedConfigText(DeltaJob(plain)), "resolved").value();
  EXPECT_TRUE(delta.has_worker_optimizer());
  EXPECT_EQ(delta.optimizer().learning_rate(), 1);
  EXPECT_EQ(SharedConfigText(delta), SharedConfigText(DeltaJob(plain)));
}

}  // namespace
}  // namespace ps
