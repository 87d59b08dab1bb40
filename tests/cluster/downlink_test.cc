// Every downlink mode leaves all workers with the same weights, and these are
// the ones that the mode promises.
#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/in_process_cluster.h"

namespace ps {
namespace {

JobConfig SieveJob() {
  JobConfig job = SmallJob(3, 2);
  job.mutable_compressor()->set_name("topk");
  job.mutable_compressor()->set_ratio(0.02);
  job.mutable_optimizer()->set_name("sgd");
  job.mutable_optimizer()->clear_weight_decay();
  job.mutable_downlink()->set_mode(DownlinkConfig::WEIGHTS);
  return job;
}

ClusterRun RunJob(const JobConfig& job) {
  ClusterRun run = RunCluster(job);
  EXPECT_TRUE(run.ok()) << run.workers[0].status();
  for (const auto& worker : run.workers) {
    EXPECT_EQ(worker->weights, run.workers[0]->weights);
  }
  return run;
}

const TrainingResult& FirstOf(const ClusterRun& run) { return *run.workers[0]; }

double DistanceOver(const std::vector<float>& a, const std::vector<float>& b) {
  double squares = 0;
  double norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    squares += std::pow(double{a[i]} - b[i], 2);
    norm += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(squares / norm);
}

class SparseDownlink : public testing::TestWithParam<std::string> {};

// With sparse_update LAZY, momentum's buffers change only where gradients were
// sent.
TEST_P(SparseDownlink, UpdatesGiveTheBitsOfWholeWeightsInFewerBytes) {
  JobConfig job = SieveJob();
  job.mutable_optimizer()->set_name(GetParam());
  if (GetParam() != "sgd" && GetParam() != "adagrad") {
    job.mutable_optimizer()->set_sparse_update(OptimizerConfig::LAZY);
  }
  if (GetParam() == "adam") job.mutable_optimizer()->set_learning_rate(1e-3);
  const ClusterRun whole = RunJob(job);
  job.mutable_downlink()->set_mode(DownlinkConfig::UPDATE);
  const ClusterRun updates = RunJob(job);
  EXPECT_EQ(FirstOf(updates).weights, FirstOf(whole).weights);
  // Three workers send 2 % each, so at most 6 % come back, with their indices.
  EXPECT_LT(FirstOf(updates).totals.bytes_down,
            0.1 * FirstOf(whole).totals.bytes_down);
}

INSTANTIATE_TEST_SUITE_P(Rules, SparseDownlink,
                         testing::Values("sgd", "momentum", "adagrad", "adam"));

TEST(Downlink, UpdatesOfDensePushesAreWholeWeights) {
  JobConfig job = SieveJob();
  job.mutable_compressor()->set_name("none");
  const ClusterRun whole = RunJob(job);
  job.mutable_downlink()->set_mode(DownlinkConfig::UPDATE);
  const ClusterRun updates = RunJob(job);
  EXPECT_EQ(FirstOf(updates).weights, FirstOf(whole).weights);
}

TEST(Downlink, WeightsInHalfTheBytesAreThoseOfTheServersRounded) {
  JobConfig job = SieveJob();
  const ClusterRun whole = RunJob(job);
  for (const std::string code : {"bf16", "fp16"}) {
    for (const auto mode : {DownlinkConfig::WEIGHTS, DownlinkConfig::UPDATE}) {
      SCOPED_TRACE(code + " in mode " + DownlinkConfig::Mode_Name(mode));
      job.mutable_downlink()->set_mode(mode);
      job.mutable_downlink()->set_value_code(code);
      const ClusterRun coded = RunJob(job);
      EXPECT_LT(FirstOf(coded).totals.bytes_down,
                0.52 * FirstOf(whole).totals.bytes_down);
      const double distance =
          DistanceOver(FirstOf(coded).weights, FirstOf(whole).weights);
      EXPECT_LT(distance, code == "bf16" ? 0.02 : 0.005);
      EXPECT_GT(distance, 0);
    }
  }
}

struct AutoCase {
  std::string optimizer;
  std::string compressor;
  std::string value_code;
  DownlinkConfig::Mode expected;
  bool coded = false;  // With the job's value code.
};

class AutoDownlink : public testing::TestWithParam<AutoCase> {};

// AUTO gives the bits and bytes of the mode that it stands for.
TEST_P(AutoDownlink, IsTheModeThatSendsLeast) {
  JobConfig job = SieveJob();
  job.mutable_optimizer()->set_name(GetParam().optimizer);
  job.mutable_compressor()->set_name(GetParam().compressor);
  job.mutable_compressor()->set_value_code(GetParam().value_code);
  job.mutable_downlink()->set_mode(DownlinkConfig::AUTO);
  const ClusterRun run = RunJob(job);
  DownlinkConfig* const downlink = job.mutable_downlink();
  downlink->set_mode(GetParam().expected);
  if (GetParam().expected == DownlinkConfig::COMPRESSED) {
    *downlink->mutable_compressor() = job.compressor();
  } else if (GetParam().coded) {
    downlink->mutable_compressor()->set_value_code(GetParam().value_code);
  }
  const ClusterRun expected = RunJob(job);
  EXPECT_EQ(FirstOf(run).weights, FirstOf(expected).weights);
  EXPECT_EQ(FirstOf(run).totals.bytes_down,
            FirstOf(expected).totals.bytes_down);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, AutoDownlink,
    testing::Values(
        AutoCase{"sgd", "topk", "fp32", DownlinkConfig::UPDATE},
        AutoCase{"sgd", "none", "fp32", DownlinkConfig::UPDATE},
        AutoCase{"sgd", "topk", "int8_block", DownlinkConfig::UPDATE, true},
        // Signs lose too much to be used without being asked for.
        AutoCase{"sgd", "topk", "sign", DownlinkConfig::UPDATE},
        AutoCase{"momentum", "topk", "fp32", DownlinkConfig::COMPRESSED},
        AutoCase{"momentum", "threshold", "fp32", DownlinkConfig::WEIGHTS},
        AutoCase{"momentum", "none", "fp32", DownlinkConfig::WEIGHTS}));

class CompressedDownlink : public testing::TestWithParam<std::string> {};

TEST_P(CompressedDownlink, ComesCloseToTheWholeWeights) {
  JobConfig job = SieveJob();
  job.mutable_optimizer()->set_name("momentum");
  job.mutable_training()->set_max_iterations(20);
  const ClusterRun whole = RunJob(job);
  job.mutable_downlink()->set_mode(DownlinkConfig::COMPRESSED);
  CompressorConfig* const down = job.mutable_downlink()->mutable_compressor();
  down->set_name(GetParam());
  down->set_ratio(0.1);
  const ClusterRun compressed = RunJob(job);
  EXPECT_LT(
      FirstOf(compressed).totals.bytes_down,
      (GetParam() == "none" ? 1.01 : 0.25) * FirstOf(whole).totals.bytes_down);
  EXPECT_LT(DistanceOver(FirstOf(compressed).weights, FirstOf(whole).weights),
            GetParam() == "none" ? 1e-4 : 0.2);
  const ClusterRun again = RunJob(job);
  EXPECT_EQ(FirstOf(again).weights, FirstOf(compressed).weights);
}

INSTANTIATE_TEST_SUITE_P(Compressors, CompressedDownlink,
                         testing::Values("none", "topk", "sidco_e"));

// The weights depend neither on how the bytes travel nor on which thread adds
// them up.
TEST(Downlink, ConnectionsCreditsAndSlicesChangeNoBit) {
  JobConfig job = SieveJob();
  job.mutable_downlink()->set_mode(DownlinkConfig::UPDATE);
  const ClusterRun first = RunJob(job);
  job.mutable_cluster()->set_connections(1);
  job.mutable_cluster()->set_unix_sockets(false);
  job.mutable_cluster()->set_credit_megabytes(1);
  job.mutable_cluster()->set_max_slice_elements(1024);
  job.mutable_machine()->set_server_threads(3);
  const ClusterRun second = RunJob(job);
  EXPECT_EQ(FirstOf(second).weights, FirstOf(first).weights);
}

}  // namespace
}  // namespace ps
