// Compression on a separate thread, in parallel with the backward pass, gives
// the same bits in every mode, and the same errors.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/in_process_cluster.h"

namespace ps {
namespace {

// The job has several buckets of several slices each.
JobConfig BucketJob(int num_workers, int num_servers) {
  JobConfig job = SmallJob(num_workers, num_servers);
  job.mutable_training()->set_max_iterations(8);
  job.mutable_training()->set_bucket_megabytes(0.03);
  job.mutable_cluster()->set_max_slice_elements(4096);
  job.mutable_compressor()->set_name("sidco_e");
  job.mutable_compressor()->set_ratio(0.05);
  return job;
}

void ExpectSameWithAndWithout(const JobConfig& job) {
  const ClusterRun with = RunCluster(job, "", /*overlap_compression=*/true);
  const ClusterRun without = RunCluster(job, "", /*overlap_compression=*/false);
  ASSERT_TRUE(with.ok()) << with.workers[0].status();
  ASSERT_TRUE(without.ok()) << without.workers[0].status();
  for (size_t rank = 0; rank < with.workers.size(); ++rank) {
    const TrainingResult& a = *with.workers[rank];
    const TrainingResult& b = *without.workers[rank];
    EXPECT_EQ(a.weights, b.weights) << rank;
    EXPECT_EQ(a.statistics, b.statistics) << rank;
    EXPECT_EQ(a.totals.achieved_ratio, b.totals.achieved_ratio) << rank;
    EXPECT_EQ(a.totals.bytes_up, b.totals.bytes_up) << rank;
  }
  EXPECT_EQ(with.workers[0]->evaluation.loss,
            without.workers[0]->evaluation.loss);
}

TEST(OverlapTest, SynchronousTrainingHasTheSameBits) {
  ExpectSameWithAndWithout(BucketJob(3, 2));
}

TEST(OverlapTest, AndWithSeveralThreadsOfOneOperation) {
  JobConfig job = BucketJob(2, 2);
  job.mutable_machine()->set_worker_threads(3);
  job.mutable_compressor()->set_name("topk");
  ExpectSameWithAndWithout(job);
}

TEST(OverlapTest, AndWithLocalSteps) {
  JobConfig job = BucketJob(2, 1);
  job.mutable_worker_optimizer()->set_name("momentum");
  job.clear_optimizer();
  job.mutable_consistency()->set_local_steps(3);
  ExpectSameWithAndWithout(job);
}

TEST(OverlapTest, AndWithACompressedWayBackAndDigests) {
  JobConfig job = BucketJob(2, 2);
  job.mutable_downlink()->set_mode(DownlinkConfig::COMPRESSED);
  job.mutable_downlink()->mutable_compressor()->set_name("topk");
  job.mutable_downlink()->mutable_compressor()->set_ratio(0.1);
  job.mutable_consistency()->set_digest_every(2);
  ExpectSameWithAndWithout(job);
}

TEST(OverlapTest, AndWithStatistics) {
  JobConfig job = BucketJob(2, 1);
  job.mutable_model()->set_name("resnet20");
  job.mutable_training()->set_max_iterations(2);
  job.mutable_training()->set_batch_size(4);
  job.mutable_data()->mutable_digits()->set_test_examples(20);
  ExpectSameWithAndWithout(job);
}

// The thread finds the error in some bucket; the trainer reports it, with the
// iteration.
TEST(OverlapTest, AGradientThatIsNotFiniteFailsTheJobAsItDoesWithout) {
  JobConfig job = BucketJob(1, 1);
  job.mutable_optimizer()->set_name("sgd");
  job.mutable_optimizer()->set_learning_rate(1e30);
  for (const bool overlap : {false, true}) {
    const ClusterRun run = RunCluster(job, "", overlap);
    ASSERT_FALSE(run.ok());
    EXPECT_THAT(std::string(run.workers[0].status().message()),
                testing::AllOf(testing::HasSubstr("iteration "),
                               testing::HasSubstr("not finite")))
        << overlap;
    EXPECT_FALSE(run.servers[0].ok());
  }
}

}  // namespace
}  // namespace ps
