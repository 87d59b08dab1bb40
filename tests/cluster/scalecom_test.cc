// Whole jobs whose workers send the positions that one of them selects.
#include <cmath>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "common/config.h"
#include "compressors/payload/payload.h"
#include "gtest/gtest.h"
#include "tests/cluster/in_process_cluster.h"

namespace ps {
namespace {

JobConfig ScaleComJob(int num_workers) {
  JobConfig job = SmallJob(num_workers, 2);
  job.mutable_compressor()->set_name("scalecom");
  job.mutable_compressor()->set_ratio(0.01);
  job.mutable_optimizer()->set_name("sgd");
  job.mutable_optimizer()->clear_weight_decay();
  return job;
}

ClusterRun RunJob(const JobConfig& job,
                  std::optional<bool> overlap_compression = {}) {
  ClusterRun run = RunCluster(job, "", overlap_compression);
  EXPECT_TRUE(run.ok()) << run.workers[0].status();
  for (const auto& worker : run.workers) {
    EXPECT_EQ(worker->weights, run.workers[0]->weights);
  }
  return run;
}

const TrainingResult& FirstOf(const ClusterRun& run) { return *run.workers[0]; }

// Buckets wait for positions, while another thread compresses, in any order in
// which several servers answer.
TEST(ScaleComJob, RepeatsBitByBitHoweverTheBytesTravel) {
  JobConfig job = ScaleComJob(3);
  job.mutable_training()->set_bucket_megabytes(0.02);
  job.mutable_cluster()->set_max_slice_elements(8192);
  const ClusterRun first = RunJob(job);
  EXPECT_EQ(FirstOf(RunJob(job)).weights, FirstOf(first).weights);
  EXPECT_EQ(FirstOf(RunJob(job, true)).weights, FirstOf(first).weights);
  job.mutable_cluster()->set_num_servers(3);
  job.mutable_cluster()->set_connections(1);
  job.mutable_cluster()->set_unix_sockets(false);
  job.mutable_cluster()->set_credit_megabytes(1);
  job.mutable_machine()->set_server_threads(3);
  EXPECT_EQ(FirstOf(RunJob(job)).weights, FirstOf(first).weights);
}

TEST(ScaleComJob, SendingEverythingIsNoCompression) {
  JobConfig job = ScaleComJob(3);
  job.mutable_compressor()->set_ratio(1);
  const ClusterRun everything = RunJob(job);
  job.mutable_compressor()->clear_ratio();
  WarmupConfig* const warmup = job.mutable_compressor()->mutable_warmup();
  warmup->set_rule(WarmupConfig::DENSE);
  warmup->set_stages(1);
  const ClusterRun warming_up = RunJob(job);
  job.mutable_compressor()->clear_warmup();
  job.mutable_compressor()->set_name("none");
  const ClusterRun none = RunJob(job);
  EXPECT_EQ(FirstOf(everything).weights, FirstOf(none).weights);
  EXPECT_EQ(FirstOf(warming_up).weights, FirstOf(none).weights);
}

struct Bytes {
  double up = 0;    // Of a worker, in an iteration.
  double down = 0;  // Likewise.
  double sent = 0;  // Elements that it sends.
};

Bytes BytesOf(const std::string& compressor, int num_workers) {
  JobConfig job = ScaleComJob(num_workers);
  job.mutable_compressor()->set_name(compressor);
  job.mutable_data()->mutable_digits()->set_train_examples(2000);
  job.mutable_training()->set_batch_size(2);
  job.mutable_training()->set_max_iterations(4);
  job.mutable_machine()->set_worker_threads(1);
  const RunTotals totals = FirstOf(RunJob(job)).totals;
  const double iterations = 4.0 * num_workers;
  const double dense = static_cast<double>(totals.dense_bytes_up) / 4;
  return {static_cast<double>(totals.bytes_up) / iterations,
          static_cast<double>(totals.bytes_down) / iterations,
          totals.achieved_ratio * dense / iterations};
}

// An update has as many elements as one worker sends, so what comes back to a
// worker does not grow with their number, where with top-k it does.
TEST(ScaleComJob, AnswersDoNotGrowWithTheWorkers) {
  const Bytes of_two = BytesOf("scalecom", 2);
  const Bytes topk_of_two = BytesOf("topk", 2);
  Bytes topk;
  for (const int num_workers : {2, 4, 8, 16}) {
    const Bytes bytes = BytesOf("scalecom", num_workers);
    topk = BytesOf("topk", num_workers);
    std::cout << num_workers << " workers, bytes of one in an iteration: up "
              << bytes.up << ", down " << bytes.down << "; topk: up " << topk.up
              << ", down " << topk.down << '\n';
    EXPECT_NEAR(bytes.sent, of_two.sent, 0.5);
    // A worker that leads less often gets the positions more often.
    EXPECT_NEAR(bytes.down, of_two.down, 0.15 * of_two.down) << num_workers;
    EXPECT_LE(bytes.up, of_two.up) << num_workers;
    // Values of four bytes, and for the leader positions of less than two; a
    // push has headers of at most 128 bytes, and LeNet has 4 slices.
    EXPECT_LE(bytes.up, bytes.sent * (4 + 2.0 / num_workers) + 4 * 128);
  }
  EXPECT_GT(topk.down, 3 * topk_of_two.down);
}

class ScaleComValues : public testing::TestWithParam<std::string> {};

TEST_P(ScaleComValues, AreSentInEveryCode) {
  JobConfig job = ScaleComJob(2);
  job.mutable_compressor()->set_value_code(GetParam());
  job.mutable_training()->set_max_iterations(6);
  if (!ValidateConfig(job).ok()) {
    // This code works without error feedback only.
    job.mutable_compressor()->set_error_feedback(false);
  }
  const ClusterRun run = RunJob(job);
  EXPECT_EQ(FirstOf(RunJob(job)).weights, FirstOf(run).weights);
  for (const float x : FirstOf(run).weights) ASSERT_TRUE(std::isfinite(x));
}

INSTANTIATE_TEST_SUITE_P(Codes, ScaleComValues,
                         testing::ValuesIn(ValueCodeNames()));

}  // namespace
}  // namespace ps
