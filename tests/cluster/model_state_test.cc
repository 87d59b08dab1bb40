// The state of a model other than the gradient: statistics that workers
// average, and initial weights.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "data/dataset.h"
#include "data/sampler.h"
#include "formats/safetensors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/model.h"
#include "tensor/backend.h"
#include "tests/cluster/in_process_cluster.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

JobConfig ResNetJob(int num_workers, int num_servers, int iterations) {
  JobConfig job = SmallJob(num_workers, num_servers);
  job.mutable_model()->set_name("resnet20");
  job.mutable_training()->set_batch_size(3);
  job.mutable_training()->set_max_iterations(iterations);
  return job;
}

struct ModelAndData {
  explicit ModelAndData(const JobConfig& job)
      : backend(NewCpuBackend(CpuBackendOptions()).value()) {
    DatasetOptions data_options;
    data_options.config = job.data();
    data_options.seed = job.seed();
    data = NewDataset(data_options).value();
    ModelOptions options;
    options.config = job.model();
    options.example = data.train->example_shape();
    options.backend = backend.get();
    model = NewModel(options).value();
  }

  std::unique_ptr<Backend> backend;
  DatasetPair data;
  std::unique_ptr<Model> model;
};

// The statistics of a separate worker after its first batch.
std::vector<float> StatisticsOfFirstBatch(const JobConfig& job, int rank) {
  ModelAndData own(job);
  SamplerOptions options;
  options.seed = job.seed();
  options.num_examples = own.data.train->size();
  options.batch_size = job.training().batch_size();
  options.num_workers = job.cluster().num_workers();
  Sampler sampler = Sampler::Create(options).value();
  Batch batch;
  EXPECT_TRUE(own.data.train->Read(sampler.Numbers(0, rank), 0, &batch).ok());
  const int64_t n = own.model->num_parameters();
  Tensor weights = own.backend->Allocate({n}).value();
  Tensor gradient = own.backend->Allocate({n}).value();
  own.model->InitializeWeights(job.seed(), weights.data());
  EXPECT_TRUE(
      own.model->ForwardBackward(batch, weights, &gradient, nullptr).ok());
  const Tensor& values = own.model->statistics_values();
  return std::vector<float>(values.data(), values.data() + values.size());
}

TEST(Statistics, AreTheMeanOfTheWorkersOwn) {
  const JobConfig job = ResNetJob(/*num_workers=*/2, /*num_servers=*/3,
                                  /*iterations=*/1);
  const ClusterRun run = RunCluster(job);
  ASSERT_TRUE(run.ok()) << run.workers[0].status();
  std::vector<float> mean = StatisticsOfFirstBatch(job, 0);
  const std::vector<float> other = StatisticsOfFirstBatch(job, 1);
  ASSERT_FALSE(mean.empty());
  EXPECT_NE(mean, other);
  for (size_t i = 0; i < mean.size(); ++i) mean[i] = (mean[i] + other[i]) / 2;
  EXPECT_EQ(run.workers[0]->statistics, mean);
  EXPECT_EQ(run.workers[1]->statistics, mean);
}

TEST(Statistics, AreAveragedAtEachEvaluationAndRepeatBitByBit) {
  JobConfig job = ResNetJob(2, 2, /*iterations=*/4);
  job.mutable_training()->set_evaluate_every_epochs(1);
  job.mutable_data()->mutable_digits()->set_train_examples(12);
  job.mutable_training()->set_epochs(2);
  const ClusterRun first = RunCluster(job);
  const ClusterRun second = RunCluster(job);
  ASSERT_TRUE(first.ok()) << first.workers[0].status();
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(first.workers[0]->statistics, first.workers[1]->statistics);
  EXPECT_EQ(first.workers[0]->statistics, second.workers[0]->statistics);
  EXPECT_EQ(first.workers[0]->weights, second.workers[0]->weights);
}

TEST(Statistics, StayFiniteWhereIterationsAreSkipped) {
  JobConfig job = ResNetJob(2, 2, /*iterations=*/3);
  job.mutable_training()->set_non_finite(TrainingConfig::SKIP);
  // From the second iteration on, activations overflow.
  job.mutable_optimizer()->set_name("sgd");
  job.mutable_optimizer()->set_learning_rate(1e20);
  job.mutable_optimizer()->set_weight_decay(0);
  const ClusterRun run = RunCluster(job);
  ASSERT_TRUE(run.ok()) << run.workers[0].status();
  EXPECT_FALSE(std::isfinite(run.workers[0]->evaluation.loss));
  for (const float value : run.workers[0]->statistics) {
    ASSERT_TRUE(std::isfinite(value));
  }
}

TEST(SkippedIterations, EndsAJobThatHasDiverged) {
  JobConfig job = ResNetJob(1, 1, /*iterations=*/150);
  job.mutable_training()->set_batch_size(1);
  job.mutable_training()->set_non_finite(TrainingConfig::SKIP);
  // From the second iteration on, activations overflow.
  job.mutable_optimizer()->set_name("sgd");
  job.mutable_optimizer()->set_learning_rate(1e36);
  job.mutable_optimizer()->set_weight_decay(0);
  const ClusterRun run = RunCluster(job);
  ASSERT_FALSE(run.workers[0].ok());
  EXPECT_THAT(std::string(run.workers[0].status().message()),
              testing::AllOf(
                  testing::HasSubstr("nor are the 99 before it: training has "
                                     "diverged; lower optimizer.learning_rate"),
                  testing::ContainsRegex("iteration 10[0-9]")));
}

// Writes the initial weights of the model of `job` with another seed.
void WriteInitialWeights(const JobConfig& job, uint64_t seed,
                         const std::string& path) {
  ModelAndData own(job);
  std::vector<float> weights(own.model->num_parameters());
  own.model->InitializeWeights(seed, weights.data());
  std::vector<SafetensorsView> tensors;
  const auto add = [&](const std::vector<ParameterInfo>& infos,
                       const float* values) {
    for (const ParameterInfo& info : infos) {
      SafetensorsView view;
      view.name = info.name;
      view.shape = info.shape;
      view.values = {values + info.offset,
                     static_cast<size_t>(NumElements(info.shape))};
      tensors.push_back(view);
    }
  };
  add(own.model->parameters(), weights.data());
  add(own.model->statistics(), own.model->statistics_values().data());
  ASSERT_TRUE(WriteSafetensors(path, tensors, {{"format", "pt"}}).ok());
}

TEST(InitialWeights, OfAFileTakeThePlaceOfTheSeeds) {
  JobConfig job = ResNetJob(2, 2, /*iterations=*/2);
  const ClusterRun seeded = RunCluster(job);
  const std::string path =
      absl::StrCat(testing::TempDir(), "/initial.safetensors");
  job.mutable_model()->set_initial_weights(path);
  WriteInitialWeights(job, job.seed(), path);
  const ClusterRun same = RunCluster(job);
  WriteInitialWeights(job, job.seed() + 1, path);
  const ClusterRun others = RunCluster(job);
  ASSERT_TRUE(seeded.ok() && same.ok() && others.ok());
  EXPECT_EQ(same.workers[1]->weights, seeded.workers[1]->weights);
  EXPECT_NE(others.workers[1]->weights, seeded.workers[1]->weights);
}

TEST(InitialWeights, OfAnotherModelAreRefusedWithTheFieldAndTheTensors) {
  JobConfig job = ResNetJob(1, 1, /*iterations=*/1);
  const std::string path =
      absl::StrCat(testing::TempDir(), "/lenet.safetensors");
  WriteInitialWeights(SmallJob(1, 1), 1, path);
  job.mutable_model()->set_initial_weights(path);
  const ClusterRun run = RunCluster(job);
  EXPECT_THAT(std::string(run.workers[0].status().message()),
              AllOf(HasSubstr("model.initial_weights"), HasSubstr(path),
                    HasSubstr("conv2.weight")));
  EXPECT_FALSE(run.servers[0].ok());
}

}  // namespace
}  // namespace ps
