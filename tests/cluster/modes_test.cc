// Jobs in which workers wait less for each other or communicate less often.
#include <cmath>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/config.h"
#include "common/mutex.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/cluster/in_process_cluster.h"

namespace ps {
namespace {

void SetWayBack(const std::string& text, JobConfig* job) {
  CHECK(google::protobuf::TextFormat::ParseFromString(text,
                                                      job->mutable_downlink()));
}

JobConfig PlainJob(int num_workers, int num_servers) {
  JobConfig job = SmallJob(num_workers, num_servers);
  job.mutable_optimizer()->set_name("sgd");
  job.mutable_optimizer()->clear_weight_decay();
  return job;
}

void ExpectEndedTogether(const ClusterRun& run) {
  ASSERT_TRUE(run.ok()) << run.workers[0].status();
  // Whatever workers did in between, all end with the same weights.
  for (const auto& worker : run.workers) {
    EXPECT_EQ(worker->weights, run.workers[0]->weights);
    EXPECT_EQ(worker->statistics, run.workers[0]->statistics);
  }
}

ClusterRun RunJob(const JobConfig& job) {
  EXPECT_TRUE(ValidateConfig(job).ok()) << ValidateConfig(job);
  ClusterRun run = RunCluster(job);
  ExpectEndedTogether(run);
  return run;
}

double DistanceOver(const std::vector<float>& a, const std::vector<float>& b) {
  double squares = 0;
  double norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    squares += std::pow(double{a[i]} - b[i], 2);
    norm += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(squares / norm);
}

double Accuracy(const ClusterRun& run) {
  const Evaluation& evaluation = run.workers[0]->evaluation;
  return Metrics(evaluation).front().value;
}

// All gradients are computed at the same weights, and N steps with 1 / N of the
// learning rate equal one step with their mean.
TEST(StaleSynchronous, WithoutStalenessIsSynchronousForPlainSgd) {
  JobConfig job = PlainJob(3, 2);
  const ClusterRun synchronous = RunJob(job);
  job.mutable_consistency()->set_mode(ConsistencyConfig::STALE_SYNCHRONOUS);
  job.mutable_consistency()->set_staleness(0);
  const ClusterRun stale = RunJob(job);
  EXPECT_LT(
      DistanceOver(stale.workers[0]->weights, synchronous.workers[0]->weights),
      2e-5);
}

struct ModeCase {
  ConsistencyConfig::Mode mode;
  DownlinkConfig::Mode downlink;
  std::string compressor;
};

class DriftingWorkers : public testing::TestWithParam<ModeCase> {};

TEST_P(DriftingWorkers, LearnAndEndTogether) {
  JobConfig job = PlainJob(3, 2);
  job.mutable_model()->set_name("cifar_cnn");  // This model has statistics.
  job.mutable_data()->set_name("shapes");
  job.mutable_data()->mutable_shapes()->set_train_examples(600);
  job.mutable_data()->mutable_shapes()->set_test_examples(100);
  job.mutable_data()->mutable_shapes()->set_side(32);
  job.mutable_training()->set_max_iterations(10);
  job.mutable_training()->set_evaluate_every_epochs(1);
  job.mutable_consistency()->set_mode(GetParam().mode);
  job.mutable_consistency()->set_staleness(1);
  job.mutable_downlink()->set_mode(GetParam().downlink);
  job.mutable_compressor()->set_name(GetParam().compressor);
  job.mutable_compressor()->set_ratio(0.1);
  const ClusterRun run = RunJob(job);
  EXPECT_EQ(run.workers[0]->totals.iterations, 10);
  EXPECT_TRUE(std::isfinite(Accuracy(run)));
}

INSTANTIATE_TEST_SUITE_P(
    Modes, DriftingWorkers,
    testing::Values(ModeCase{ConsistencyConfig::STALE_SYNCHRONOUS,
                             DownlinkConfig::WEIGHTS, "none"},
                    ModeCase{ConsistencyConfig::STALE_SYNCHRONOUS,
                             DownlinkConfig::UPDATE, "topk"},
                    ModeCase{ConsistencyConfig::ASYNCHRONOUS,
                             DownlinkConfig::WEIGHTS, "sidco_e"},
                    ModeCase{ConsistencyConfig::ASYNCHRONOUS,
                             DownlinkConfig::UPDATE, "topk"}));

TEST(Asynchronous, LearnsAsSynchronousJobsDo) {
  JobConfig job = PlainJob(2, 1);
  job.mutable_training()->set_max_iterations(120);
  job.mutable_training()->set_epochs(100);
  job.mutable_optimizer()->set_learning_rate(0.1);
  const double synchronous = Accuracy(RunJob(job));
  job.mutable_consistency()->set_mode(ConsistencyConfig::ASYNCHRONOUS);
  const double asynchronous = Accuracy(RunJob(job));
  EXPECT_GT(synchronous, 0.5) << "not learnt";
  EXPECT_GT(asynchronous, synchronous - 0.15);
}

TEST(Digests, PassWithEveryWayBack) {
  JobConfig job = PlainJob(2, 2);
  job.mutable_consistency()->set_digest_every(1);
  job.mutable_compressor()->set_name("topk");
  job.mutable_compressor()->set_ratio(0.05);
  for (const std::string way_back :
       {"mode: WEIGHTS", "mode: WEIGHTS value_code: \"bf16\"", "mode: UPDATE",
        "mode: UPDATE value_code: \"fp16\"",
        "mode: UPDATE compressor { value_code: \"qsgdinf\" }",
        "mode: COMPRESSED compressor { name: \"topk\" }"}) {
    SCOPED_TRACE(way_back);
    SetWayBack(way_back, &job);
    RunJob(job);
  }
}

// No worker is late here, so each update includes all workers.
TEST(StepTimeout, ChangesNothingWhenAllAreInTime) {
  JobConfig job = PlainJob(3, 2);
  const ClusterRun patient = RunJob(job);
  job.mutable_consistency()->set_step_timeout_seconds(300);
  job.mutable_consistency()->set_min_workers(2);
  EXPECT_EQ(RunJob(job).workers[0]->weights, patient.workers[0]->weights);
  // With a leader that all wait for, too.
  job.mutable_compressor()->set_name("scalecom");
  job.mutable_compressor()->set_ratio(0.05);
  const ClusterRun led = RunJob(job);
  job.clear_consistency();
  EXPECT_EQ(RunJob(job).workers[0]->weights, led.workers[0]->weights);
}

// Servers do not wait for a worker once two have pushed.
JobConfig ImpatientJob() {
  JobConfig job = PlainJob(3, 2);
  job.mutable_training()->set_max_iterations(24);
  job.mutable_training()->set_epochs(100);
  job.mutable_compressor()->set_name("topk");
  job.mutable_compressor()->set_ratio(0.1);
  job.mutable_consistency()->set_step_timeout_seconds(1e-4);
  job.mutable_consistency()->set_min_workers(2);
  job.mutable_consistency()->set_digest_every(1);
  return job;
}

// Runs the job; worker 2 holds each third of its pushes back until worker 0 has
// gone on without it, so that the push is late whatever the scheduler does, or
// until the others, which may have ended, are silent.
ClusterRun RunWithLateWorker(const JobConfig& job) {
  EXPECT_TRUE(ValidateConfig(job).ok()) << ValidateConfig(job);
  Mutex mu;
  CondVar pushed;
  std::vector<int> pushes(3, 0);
  ClusterRun run = RunClusterHeld(job, [&](int rank, int push) {
    MutexLock lock(&mu);
    ++pushes[rank];
    pushed.SignalAll();
    if (rank != 2 || push % 3 != 1) return;
    const int enough = pushes[0] + 2;
    int before = -1;
    while (pushes[0] < enough && before != pushes[0] + pushes[1]) {
      before = pushes[0] + pushes[1];
      pushed.WaitFor(&mu, absl::Seconds(5));
    }
  });
  ExpectEndedTogether(run);
  EXPECT_EQ(run.workers[0]->totals.iterations, job.training().max_iterations());
  EXPECT_GT(run.workers[2]->totals.dropped, 0);
  return run;
}

// With error feedback nothing is lost, and the job still learns.
TEST(StepTimeout, LeavesOutWhoeverIsLate) {
  JobConfig job = ImpatientJob();
  job.mutable_training()->set_max_iterations(240);
  EXPECT_GT(Accuracy(RunWithLateWorker(job)), 0.5);
}

// A worker that was left out receives all changes, including those made while
// it was behind; digests verify this.
TEST(StepTimeout, WhoWasDroppedHoldsTheRightWeightsWithEveryWayBack) {
  for (const std::string way_back :
       {"mode: UPDATE",
        "mode: UPDATE compressor { value_code: \"int8_block\" }",
        "mode: COMPRESSED compressor { name: \"topk\" ratio: 0.1 }"}) {
    SCOPED_TRACE(way_back);
    JobConfig job = ImpatientJob();
    SetWayBack(way_back, &job);
    job.mutable_optimizer()->set_name("momentum");
    job.mutable_optimizer()->set_sparse_update(OptimizerConfig::LAZY);
    RunWithLateWorker(job);
  }
}

TEST(StepTimeout, GoesWithStatisticsAndManyEvaluations) {
  JobConfig job = ImpatientJob();
  job.mutable_model()->set_name("cifar_cnn");
  job.mutable_data()->set_name("shapes");
  job.mutable_data()->mutable_shapes()->set_train_examples(60);
  job.mutable_data()->mutable_shapes()->set_test_examples(20);
  job.mutable_training()->set_batch_size(5);
  job.mutable_training()->set_max_iterations(12);
  RunWithLateWorker(job);
}

TEST(StepTimeout, GoesWithNormsOverServers) {
  JobConfig job = ImpatientJob();
  job.mutable_optimizer()->set_name("lamb");
  job.mutable_optimizer()->set_learning_rate(1e-3);
  RunWithLateWorker(job);
}

// Leaders may be late, too, in some slices and not in others.
TEST(StepTimeout, GoesWithSharedPositions) {
  for (const std::string selection : {"CHUNKS", "EXACT"}) {
    SCOPED_TRACE(selection);
    JobConfig job = ImpatientJob();
    job.mutable_training()->set_max_iterations(240);
    job.mutable_cluster()->set_max_slice_elements(8192);
    job.mutable_compressor()->set_name("scalecom");
    if (selection == "EXACT") {
      job.mutable_compressor()->mutable_scalecom()->set_selection(
          ScaleComConfig::EXACT);
    }
    EXPECT_GT(Accuracy(RunWithLateWorker(job)), 0.5);
  }
}

}  // namespace
}  // namespace ps
