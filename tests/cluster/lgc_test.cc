// Whole jobs whose servers train an autoencoder on what the workers send.
#include <cmath>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "common/config.h"
#include "gtest/gtest.h"
#include "tests/cluster/in_process_cluster.h"

namespace ps {
namespace {

constexpr int kTraining = 40;

// Codes are used from iteration kTraining + 2 on, whatever has been learnt.
JobConfig LgcJob(int num_workers, int num_servers) {
  JobConfig job = SmallJob(num_workers, num_servers);
  for (const char* text :
       {"compressor.name=lgc", "compressor.ratio=0.02",
        "compressor.lgc.train_iterations=40", "compressor.lgc.retry_every=40",
        "compressor.lgc.check_every=10", "compressor.lgc.gate_error=100",
        "compressor.lgc.gate_gain=100", "compressor.lgc.check_error=100",
        "compressor.lgc.min_values=64", "optimizer.name=sgd",
        "optimizer.weight_decay=0", "training.epochs=4",
        "training.max_iterations=56"}) {
    EXPECT_TRUE(ApplyOverride(text, &job).ok()) << text;
  }
  return job;
}

ClusterRun RunJob(const JobConfig& job,
                  std::optional<bool> overlap_compression = {}) {
  ClusterRun run = RunCluster(job, "", overlap_compression);
  EXPECT_TRUE(run.ok()) << run.workers[0].status() << run.servers[0];
  for (const auto& worker : run.workers) {
    EXPECT_EQ(worker->weights, run.workers[0]->weights);
  }
  return run;
}

const TrainingResult& FirstOf(const ClusterRun& run) { return *run.workers[0]; }

TEST(LgcJob, RepeatsBitByBitHoweverTheBytesTravel) {
  JobConfig job = LgcJob(2, 2);
  const ClusterRun first = RunJob(job);
  for (const float x : FirstOf(first).weights) ASSERT_TRUE(std::isfinite(x));
  EXPECT_EQ(FirstOf(RunJob(job)).weights, FirstOf(first).weights);
  job.mutable_cluster()->set_num_servers(3);
  job.mutable_cluster()->set_connections(1);
  job.mutable_cluster()->set_unix_sockets(false);
  job.mutable_machine()->set_server_threads(3);
  EXPECT_EQ(FirstOf(RunJob(job, true)).weights, FirstOf(first).weights);
}

// Until the codes are used, it is ScaleCom; then a worker sends less, and each
// gets the encoders of the four slices once.
TEST(LgcJob, SendsCodesAfterTraining) {
  JobConfig job = LgcJob(2, 1);
  job.mutable_training()->set_max_iterations(kTraining + 1);
  const RunTotals before = FirstOf(RunJob(job)).totals;
  const ClusterRun same = RunJob(job);
  job.mutable_training()->set_max_iterations(kTraining + 15);
  const RunTotals whole = FirstOf(RunJob(job)).totals;
  job.mutable_compressor()->set_name("scalecom");
  const RunTotals all_values = FirstOf(RunJob(job)).totals;
  job.mutable_training()->set_max_iterations(kTraining + 1);
  const ClusterRun values = RunJob(job);
  EXPECT_EQ(FirstOf(values).weights, FirstOf(same).weights);
  const double up = static_cast<double>(whole.bytes_up - before.bytes_up);
  const double up_of_values = static_cast<double>(
      all_values.bytes_up - FirstOf(values).totals.bytes_up);
  const double more_down = static_cast<double>(
      whole.bytes_down - before.bytes_down -
      (all_values.bytes_down - FirstOf(values).totals.bytes_down));
  std::cout << "bytes up in 14 iterations " << up << ", of scalecom "
            << up_of_values << "; more bytes down " << more_down << '\n';
  EXPECT_LT(up, 0.9 * up_of_values);
  EXPECT_NEAR(more_down, 2 * 4 * 4 * 172996, 20000);
}

TEST(LgcJob, BeginsWithEverything) {
  JobConfig job = LgcJob(2, 1);
  WarmupConfig* const warmup = job.mutable_compressor()->mutable_warmup();
  warmup->set_rule(WarmupConfig::DENSE);
  warmup->set_stages(1);
  warmup->set_iterations_per_stage(5);
  job.mutable_training()->set_max_iterations(5);
  const ClusterRun everything = RunJob(job);
  job.mutable_compressor()->clear_warmup();
  job.mutable_compressor()->set_name("none");
  EXPECT_EQ(FirstOf(RunJob(job)).weights, FirstOf(everything).weights);
}

}  // namespace
}  // namespace ps
