// Compares whole jobs with every update rule with a single process that has all
// data and computes the rules in double precision from their definitions.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/sampler.h"
#include "gtest/gtest.h"
#include "models/model.h"
#include "optimizers/optimizer.h"
#include "tensor/backend.h"
#include "tests/cluster/in_process_cluster.h"
#include "tests/optimizers/optimizer_reference.h"

namespace ps {
namespace {

JobConfig RuleJob(const std::string& rule, int num_workers, int num_servers) {
  JobConfig job = SmallJob(num_workers, num_servers);
  // The job is small and short, because references keep the whole history and
  // sum over it in every update.
  job.mutable_model()->set_name("mlp");
  job.mutable_model()->mutable_mlp()->add_hidden_units(8);
  job.mutable_training()->set_max_iterations(6);
  OptimizerConfig* const optimizer = job.mutable_optimizer();
  optimizer->set_name(rule);
  optimizer->set_learning_rate(rule == "lars" ? 1 : 0.01);
  optimizer->set_weight_decay(1e-3);
  // Without a noticeable epsilon, the first steps of rules with a second moment
  // are sign(gradient), and the sign of an element near 0 depends on the last
  // bits of a sum.
  optimizer->set_epsilon(1e-3);
  return job;
}

// Trains with one batch as large as those of all workers together.
std::vector<float> TrainAlone(const JobConfig& job) {
  DatasetOptions data_options;
  data_options.config = job.data();
  data_options.seed = job.seed();
  const DatasetPair data = NewDataset(data_options).value();
  SamplerOptions sampler_options;
  sampler_options.seed = job.seed();
  sampler_options.num_examples = data.train->size();
  sampler_options.batch_size = job.training().batch_size();
  sampler_options.num_workers = job.cluster().num_workers();
  Sampler sampler = Sampler::Create(sampler_options).value();
  const std::unique_ptr<Backend> backend =
      NewCpuBackend(CpuBackendOptions()).value();
  ModelOptions model_options;
  model_options.config = job.model();
  model_options.example = data.train->example_shape();
  model_options.backend = backend.get();
  const std::unique_ptr<Model> model = NewModel(model_options).value();

  std::vector<TensorStretch> tensors;
  for (const ParameterInfo& parameter : model->parameters()) {
    const int64_t size = NumElements(parameter.shape);
    tensors.push_back({static_cast<int>(tensors.size()), 0, size,
                       parameter.shape.size() > 1});
  }
  const int64_t n = model->num_parameters();
  Tensor weights = backend->Allocate({n}).value();
  Tensor gradient = backend->Allocate({n}).value();
  model->InitializeWeights(job.seed(), weights.data());
  Trajectory trajectory;
  trajectory.weights.assign(weights.data(), weights.data() + n);
  trajectory.rate = job.optimizer().learning_rate();
  Batch batch;
  for (int64_t i = 0; i < job.training().max_iterations(); ++i) {
    std::vector<int64_t> numbers;
    for (int rank = 0; rank < job.cluster().num_workers(); ++rank) {
      const absl::Span<const int64_t> part = sampler.Numbers(i, rank);
      numbers.insert(numbers.end(), part.begin(), part.end());
    }
    EXPECT_TRUE(data.train->Read(numbers, 0, &batch).ok());
    EXPECT_TRUE(model
                    ->ForwardBackward(batch, weights, &gradient,
                                      [](const BatchResult&, int64_t, int64_t) {
                                        return absl::OkStatus();
                                      })
                    .ok());
    trajectory.gradients.emplace_back(gradient.data(), gradient.data() + n);
    const std::vector<double> now =
        ReferenceWeights(job.optimizer(), tensors, trajectory);
    for (int64_t j = 0; j < n; ++j) {
      weights.data()[j] = static_cast<float>(now[j]);
    }
  }
  return std::vector<float>(weights.data(), weights.data() + n);
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

std::vector<float> TrainedBy(const JobConfig& job) {
  const ClusterRun run = RunCluster(job);
  EXPECT_TRUE(run.ok()) << run.workers[0].status();
  for (const auto& worker : run.workers) {
    EXPECT_EQ(worker->weights, run.workers[0]->weights);
  }
  return run.workers[0]->weights;
}

class EveryOptimizer : public testing::TestWithParam<std::string> {};

TEST_P(EveryOptimizer, EqualsOneProcessWithAllData) {
  const JobConfig job = RuleJob(GetParam(), 3, 2);
  EXPECT_LT(RelativeDistance(TrainedBy(job), TrainAlone(job)), 2e-5);
}

TEST_P(EveryOptimizer, RepeatsBitByBitWhateverCarriesTheBytes) {
  JobConfig job = RuleJob(GetParam(), 2, 2);
  const std::vector<float> once = TrainedBy(job);
  job.mutable_machine()->set_server_threads(3);
  job.mutable_cluster()->set_connections(1);
  job.mutable_cluster()->set_unix_sockets(false);
  // Workers send digests of their weights, which servers compare.
  job.mutable_consistency()->set_digest_every(2);
  EXPECT_EQ(TrainedBy(job), once);
}

// A single worker waits for nobody and is never stale.
TEST_P(EveryOptimizer, OneWorkerIsTheSameInEveryMode) {
  if (NeedsNorms(RuleJob(GetParam(), 1, 1).optimizer())) {
    GTEST_SKIP() << GetParam() << " has only one mode";
  }
  JobConfig job = RuleJob(GetParam(), 1, 2);
  const std::vector<float> synchronous = TrainedBy(job);
  EXPECT_LT(RelativeDistance(synchronous, TrainAlone(job)), 2e-5);
  for (const auto mode : {ConsistencyConfig::STALE_SYNCHRONOUS,
                          ConsistencyConfig::ASYNCHRONOUS}) {
    job.mutable_consistency()->set_mode(mode);
    EXPECT_EQ(TrainedBy(job), synchronous);
  }
}

INSTANTIATE_TEST_SUITE_P(Registered, EveryOptimizer,
                         testing::ValuesIn(OptimizerRegistry().Names()));

}  // namespace
}  // namespace ps
