// Layers with learning rates of their own, and layers that keep their weights.
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "common/config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/model.h"
#include "optimizers/optimizer.h"
#include "tensor/backend.h"
#include "tests/cluster/in_process_cluster.h"
#include "worker/job_check.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

// The rule with the job's rate.
OptimizerConfig* RuleOf(JobConfig* job) {
  return job->has_worker_optimizer() ? job->mutable_worker_optimizer()
                                     : job->mutable_optimizer();
}

void SetRate(const std::string& layers, double rate, JobConfig* job) {
  LayerRate* const added = RuleOf(job)->add_layer_rates();
  added->add_layers(layers);
  added->set_rate(rate);
}

TrainingResult ResultOf(const JobConfig& job) {
  EXPECT_TRUE(ValidateConfig(job).ok()) << ValidateConfig(job);
  const ClusterRun run = RunCluster(job);
  EXPECT_TRUE(run.ok()) << run.workers[0].status();
  if (!run.ok()) return {};
  for (const auto& worker : run.workers) {
    EXPECT_EQ(worker->weights, run.workers[0]->weights);
  }
  return *run.workers[0];
}

std::vector<float> WeightsOf(const JobConfig& job) {
  return ResultOf(job).weights;
}

// The jobs' model, for the places of its tensors and its initial weights.
class SmallModel {
 public:
  explicit SmallModel(const JobConfig& job) {
    ModelOptions options;
    options.config = job.model();
    options.example.channels = 1;
    options.example.height = 28;
    options.example.width = 28;
    options.example.num_classes = 10;
    options.backend = backend_.get();
    model_ = NewModel(options).value();
    first_.resize(model_->num_parameters());
    model_->InitializeWeights(job.seed(), first_.data());
  }

  // The values of a tensor in a vector like the model's weights.
  std::vector<float> Of(const std::string& name,
                        const std::vector<float>& weights) const {
    for (const ParameterInfo& parameter : model_->parameters()) {
      if (parameter.name != name) continue;
      const auto begin = weights.begin() + parameter.offset;
      return {begin, begin + NumElements(parameter.shape)};
    }
    ADD_FAILURE() << "no tensor " << name;
    return {};
  }
  const std::vector<float>& first() const { return first_; }
  const std::vector<ParameterInfo>& parameters() const {
    return model_->parameters();
  }

 private:
  const std::unique_ptr<Backend> backend_ =
      NewCpuBackend(CpuBackendOptions()).value();
  std::unique_ptr<Model> model_;
  std::vector<float> first_;
};

JobConfig DeltaJob(JobConfig job) {
  *job.mutable_worker_optimizer() = job.optimizer();
  job.clear_optimizer();
  return job;
}

// Half the rate of all layers is half the rate of the job, bit by bit, for each
// rule, wherever it runs.
TEST(LayerRates, MultiplyTheRateOfEveryRule) {
  for (const std::string& rule : OptimizerRegistry().Names()) {
    JobConfig job = SmallJob(2, 2);
    job.mutable_optimizer()->set_name(rule);
    std::vector<JobConfig> jobs = {job};
    if (!NeedsNorms(job.optimizer())) jobs.push_back(DeltaJob(job));
    for (JobConfig& each : jobs) {
      SCOPED_TRACE(rule + (each.has_worker_optimizer() ? " of workers" : ""));
      JobConfig slow = each;
      RuleOf(&slow)->set_learning_rate(RuleOf(&each)->learning_rate() / 2);
      SetRate("*", 0.5, &each);
      EXPECT_EQ(WeightsOf(each), WeightsOf(slow));
    }
  }
}

// The first step of one worker is rate x gradient.
TEST(LayerRates, AreThoseOfTheirTensors) {
  for (const bool delta : {false, true}) {
    for (const std::string compressor : {"none", "topk"}) {
      SCOPED_TRACE(compressor + (delta ? " in delta mode" : ""));
      JobConfig job = SmallJob(1, 2);
      job.mutable_optimizer()->set_name("sgd");
      job.mutable_training()->set_max_iterations(1);
      job.mutable_cluster()->set_max_slice_elements(1024);
      job.mutable_compressor()->set_name(compressor);
      job.mutable_compressor()->set_ratio(1);
      if (delta) job = DeltaJob(job);
      const SmallModel model(job);
      const std::vector<float> whole = WeightsOf(job);
      SetRate("conv1.*", 0.25, &job);
      SetRate("*.bias", 4, &job);
      const std::vector<float> rated = WeightsOf(job);
      ASSERT_EQ(rated.size(), whole.size());
      for (const ParameterInfo& parameter : model.parameters()) {
        const bool bias = parameter.shape.size() == 1;
        const double rate = bias                               ? 4
                            : parameter.name == "conv1.weight" ? 0.25
                                                               : 1;
        const int64_t end = parameter.offset + NumElements(parameter.shape);
        for (int64_t i = parameter.offset; i < end; ++i) {
          const double first = model.first()[i];
          ASSERT_NEAR(rated[i] - first, rate * (whole[i] - first), 1e-6)
              << parameter.name;
        }
      }
    }
  }
}

// Whatever compresses, and wherever the rule runs; also with several steps for
// each push.
TEST(FrozenLayers, KeepTheirWeightsWhileOthersLearn) {
  for (const std::string compressor : {"none", "topk", "sidco_e"}) {
    for (const int mode : {0, 1, 2}) {
      SCOPED_TRACE(compressor + " " + std::to_string(mode));
      JobConfig job = SmallJob(2, 2);
      job.mutable_compressor()->set_name(compressor);
      job.mutable_compressor()->set_ratio(0.05);
      if (mode > 0) job = DeltaJob(job);
      if (mode == 1) job.mutable_worker_optimizer()->set_clip_norm(1);
      if (mode == 2) job.mutable_consistency()->set_local_steps(3);
      SetRate("*", 0, &job);
      SetRate("conv2.*", 1, &job);
      SetRate("fc3.weight", 1, &job);
      const SmallModel model(job);
      const TrainingResult result = ResultOf(job);
      const std::vector<float>& weights = result.weights;
      ASSERT_EQ(weights.size(), model.first().size());
      if (compressor == "none") {
        EXPECT_EQ(result.totals.achieved_ratio, 1);
      }
      for (const ParameterInfo& parameter : model.parameters()) {
        const bool trained = parameter.name == "conv2.weight" ||
                             parameter.name == "conv2.bias" ||
                             parameter.name == "fc3.weight";
        EXPECT_EQ(model.Of(parameter.name, weights) ==
                      model.Of(parameter.name, model.first()),
                  !trained)
            << parameter.name;
      }
    }
  }
}

TEST(FrozenLayers, KeepTheirWeightsInStages) {
  JobConfig job = SmallJob(2, 2);
  job.mutable_model()->set_name("resnet20");
  TrainingConfig& training = *job.mutable_training();
  training.set_epochs(3);
  training.mutable_layer_parallel()->set_stages(2);
  training.mutable_layer_parallel()->set_warm_start_epochs(1);
  training.mutable_layer_parallel()->set_parallel_epochs(1);
  training.mutable_layer_parallel()->set_serial_epochs(1);
  SetRate("conv1.*", 0, &job);
  SetRate("layer2.*", 0, &job);
  const SmallModel model(job);
  const std::vector<float> weights = WeightsOf(job);
  ASSERT_EQ(weights.size(), model.first().size());
  for (const ParameterInfo& parameter : model.parameters()) {
    const bool frozen = absl::StartsWith(parameter.name, "conv1.") ||
                        absl::StartsWith(parameter.name, "layer2.");
    EXPECT_EQ(model.Of(parameter.name, weights) ==
                  model.Of(parameter.name, model.first()),
              frozen)
        << parameter.name;
  }
}

// A rate of almost 0 sends everything, and learns almost the same.
TEST(FrozenLayers, EqualLayersThatHardlyMove) {
  for (const bool delta : {false, true}) {
    SCOPED_TRACE(delta);
    JobConfig job = SmallJob(2, 2);
    job.mutable_optimizer()->set_weight_decay(0);
    if (delta) job = DeltaJob(job);
    JobConfig slow = job;
    SetRate("conv*", 0, &job);
    SetRate("conv*", 1e-12, &slow);
    const std::vector<float> weights = WeightsOf(job);
    const std::vector<float> expected = WeightsOf(slow);
    ASSERT_EQ(weights.size(), expected.size());
    for (size_t i = 0; i < weights.size(); ++i) {
      ASSERT_NEAR(weights[i], expected[i], 1e-6) << i;
    }
  }
}

TEST(LayerRates, ProblemsOfTheConfigAreNamed) {
  for (const bool delta : {false, true}) {
    JobConfig job = SmallJob(1, 1);
    if (delta) job = DeltaJob(job);
    RuleOf(&job)->add_layer_rates();
    SetRate("*", -1, &job);
    SetRate("*", std::numeric_limits<double>::infinity(), &job);
    const std::string message(ValidateConfig(job).message());
    const std::string section = delta ? "worker_optimizer" : "optimizer";
    for (const char* const problem :
         {".layer_rates[0].layers is empty; must name tensors",
          ".layer_rates[1].rate is -1; must be above 0, or 0",
          ".layer_rates[2].rate is inf; must be finite and above 0"}) {
      EXPECT_THAT(message, HasSubstr(section + problem));
    }
  }
  JobConfig job = DeltaJob(SmallJob(1, 1));
  job.mutable_optimizer()->add_layer_rates()->add_layers("*");
  EXPECT_THAT(std::string(ValidateConfig(job).message()),
              HasSubstr("optimizer.layer_rates is set; must be in "
                        "worker_optimizer"));
}

TEST(FrozenLayers, AreCountedByCheck) {
  JobConfig job = SmallJob(1, 1);
  SetRate("*", 0, &job);
  SetRate("fc3.bias", 1, &job);
  const absl::StatusOr<CheckedJob> checked = CheckTraining(job, 0);
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_THAT(checked->summary, HasSubstr("parameters (10 of them trained)"));
}

TEST(LayerRates, WhatIsWrongIsNamed) {
  const auto error_of = [](const JobConfig& job) {
    return std::string(RunCluster(job).workers[0].status().message());
  };
  JobConfig job = SmallJob(1, 1);
  SetRate("fc.*", 0, &job);
  EXPECT_THAT(error_of(job),
              HasSubstr("optimizer.layer_rates[0].layers has \"fc.*\", which "
                        "matches no tensor of the model; their names are "
                        "conv1.bias, conv1.weight"));
  job.mutable_optimizer()->clear_layer_rates();
  SetRate("*", 0, &job);
  EXPECT_THAT(error_of(job), HasSubstr("optimizer.layer_rates has rate 0 for "
                                       "every tensor of the model"));
  SetRate("fc2.*", 1, &job);
  SetRate("conv1.*", 1, &job);
  job.mutable_compressor()->set_clip_norm(1);
  EXPECT_THAT(error_of(job), HasSubstr("the gradient has 2 buckets; "
                                       "compressor.clip_norm needs one"));
}

}  // namespace
}  // namespace ps
