// Jobs whose workers have one stage each.
#include "gtest/gtest.h"
#include "tests/cluster/in_process_cluster.h"

namespace ps {
namespace {

// Three iterations each of a serial epoch, two parallel ones and a serial one.
JobConfig StagesJob(int num_workers, int batch_size) {
  JobConfig job = SmallJob(num_workers, /*num_servers=*/2);
  job.mutable_cluster()->set_max_slice_elements(10000);
  job.mutable_model()->set_name("resnet20");
  job.mutable_data()->mutable_digits()->set_train_examples(97);
  TrainingConfig& training = *job.mutable_training();
  training.set_epochs(4);
  training.set_batch_size(batch_size);
  training.mutable_layer_parallel()->set_warm_start_epochs(1);
  training.mutable_layer_parallel()->set_parallel_epochs(2);
  training.mutable_layer_parallel()->set_serial_epochs(1);
  return job;
}

TEST(Stages, OnWorkersGiveTheBitsOfOneWorkerWithAllStages) {
  const ClusterRun one = RunCluster(StagesJob(1, 32));
  const ClusterRun two = RunCluster(StagesJob(2, 16));
  ASSERT_TRUE(one.ok()) << one.workers[0].status();
  ASSERT_TRUE(two.ok()) << two.workers[0].status() << two.workers[1].status();
  const TrainingResult& expected = *one.workers[0];
  for (const auto& worker : two.workers) {
    EXPECT_EQ(worker->weights, expected.weights);
    EXPECT_EQ(worker->statistics, expected.statistics);
  }
  EXPECT_EQ(two.workers[0]->evaluation.loss, expected.evaluation.loss);
}

}  // namespace
}  // namespace ps
