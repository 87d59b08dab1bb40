// Rules that need norms of whole tensors or of the whole gradient give the same
// weights however the tensors are cut.
#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/in_process_cluster.h"

namespace ps {
namespace {

JobConfig NormJob(const std::string& rule, int num_servers) {
  JobConfig job = SmallJob(2, num_servers);
  job.mutable_training()->set_max_iterations(8);
  job.mutable_optimizer()->set_name(rule);
  job.mutable_optimizer()->set_learning_rate(rule == "lars" ? 1 : 0.01);
  job.mutable_optimizer()->set_weight_decay(1e-3);
  return job;
}

std::vector<float> WeightsOf(const JobConfig& job) {
  const ClusterRun run = RunCluster(job);
  EXPECT_TRUE(run.ok()) << run.workers[0].status();
  for (const auto& worker : run.workers) {
    EXPECT_EQ(worker->weights, run.workers[0]->weights);
  }
  return run.workers[0]->weights;
}

double RelativeDistance(const std::vector<float>& a,
                        const std::vector<float>& b) {
  double squares = 0;
  double norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    squares += std::pow(double{a[i]} - b[i], 2);
    norm += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(squares / norm);
}

class NormRule : public testing::TestWithParam<std::string> {};

TEST_P(NormRule, AnyNumberOfServersAndSlicesGivesTheSameWeights) {
  const std::vector<float> one = WeightsOf(NormJob(GetParam(), 1));
  for (const int num_servers : {2, 3}) {
    SCOPED_TRACE(num_servers);
    JobConfig job = NormJob(GetParam(), num_servers);
    // Tensors are cut at every 1024th element; small ones are on one server.
    job.mutable_cluster()->set_max_slice_elements(1024);
    job.mutable_training()->set_bucket_megabytes(0.03);
    job.mutable_machine()->set_server_threads(2);
    EXPECT_LT(RelativeDistance(WeightsOf(job), one), 1e-5);
  }
}

TEST_P(NormRule, ClippingToo) {
  JobConfig job = NormJob(GetParam(), 1);
  const std::vector<float> free = WeightsOf(job);
  job.mutable_optimizer()->set_clip_norm(0.05);
  const std::vector<float> one = WeightsOf(job);
  EXPECT_GT(RelativeDistance(one, free), 1e-5) << "it does clip";
  job.mutable_cluster()->set_num_servers(3);
  job.mutable_cluster()->set_max_slice_elements(1024);
  EXPECT_LT(RelativeDistance(WeightsOf(job), one), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Rules, NormRule,
                         testing::Values("lars", "lamb", "novograd"));

TEST(Clipping, OfSparsePushesThatLeaveTheRestAlone) {
  JobConfig job = NormJob("sgd", 1);
  job.mutable_optimizer()->clear_weight_decay();
  job.mutable_optimizer()->set_learning_rate(0.1);
  job.mutable_optimizer()->set_clip_norm(0.1);
  job.mutable_compressor()->set_name("topk");
  const std::vector<float> whole = WeightsOf(job);
  job.mutable_downlink()->set_mode(DownlinkConfig::UPDATE);
  EXPECT_EQ(WeightsOf(job), whole);
  job.mutable_cluster()->set_num_servers(3);
  EXPECT_LT(RelativeDistance(WeightsOf(job), whole), 1e-5);
}

// A server answers no push before all pushes of the iteration have arrived, so
// a worker must be allowed to send them all.
TEST(Norms, ACreditBelowTheModelDoesNotStopTheJob) {
  JobConfig job = NormJob("lamb", 2);
  job.mutable_model()->set_name("mlp");
  job.mutable_model()->mutable_mlp()->add_hidden_units(1000);
  job.mutable_training()->set_max_iterations(2);
  job.mutable_cluster()->set_max_slice_elements(1 << 16);
  const std::vector<float> much = WeightsOf(job);
  EXPECT_GT(much.size() * sizeof(float), 3 << 20);
  job.mutable_cluster()->set_credit_megabytes(1);
  EXPECT_EQ(WeightsOf(job), much);
}

// The pushes of an iteration take three megabytes; the credit allows one.
TEST(Credit, IsKeptByWorkersAndChangesNoBit) {
  JobConfig job = NormJob("sgd", 1);
  job.mutable_model()->set_name("mlp");
  job.mutable_model()->mutable_mlp()->add_hidden_units(1000);
  job.mutable_training()->set_max_iterations(3);
  job.mutable_cluster()->set_max_slice_elements(1 << 16);
  const std::vector<float> much = WeightsOf(job);
  job.mutable_cluster()->set_credit_megabytes(1);
  EXPECT_EQ(WeightsOf(job), much);
}

TEST(Norms, RunsRepeatBitByBit) {
  JobConfig job = NormJob("lamb", 3);
  job.mutable_optimizer()->set_clip_norm(0.5);
  job.mutable_machine()->set_server_threads(3);
  job.mutable_cluster()->set_max_slice_elements(1024);
  EXPECT_EQ(WeightsOf(job), WeightsOf(job));
}

}  // namespace
}  // namespace ps
