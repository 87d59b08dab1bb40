// Jobs that end after a snapshot and go on.
#ifndef TESTS_CLUSTER_RESUMED_JOBS_H_
#define TESTS_CLUSTER_RESUMED_JOBS_H_

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/in_process_cluster.h"

namespace ps {

inline constexpr int kEvery = 5;
inline constexpr int kStopBeforePush = 7;

// Patterns of tensors, and their rates.
using PatternRates = std::vector<std::pair<std::string, double>>;

class Resume : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }

  JobConfig Job(const std::vector<std::string>& overrides,
                const PatternRates& rates = {}) const {
    JobConfig job = SmallJob(/*num_workers=*/2, /*num_servers=*/2);
    // At least as many slices as servers.
    job.mutable_cluster()->set_max_slice_elements(10000);
    for (const std::string& text : overrides) {
      const absl::Status set = ApplyOverride(text, &job);
      EXPECT_TRUE(set.ok()) << set;
    }
    for (const auto& [layers, rate] : rates) {
      LayerRate* const added =
          job.has_worker_optimizer()
              ? job.mutable_worker_optimizer()->add_layer_rates()
              : job.mutable_optimizer()->add_layer_rates();
      added->add_layers(layers);
      added->set_rate(rate);
    }
    const absl::Status valid = ValidateConfig(job);
    EXPECT_TRUE(valid.ok()) << valid;
    job.mutable_checkpoint()->set_every(kEvery);
    job.mutable_checkpoint()->set_directory(folder_ + "/checkpoints");
    return job;
  }

  static void ExpectSameBits(const ClusterRun& run, const ClusterRun& other) {
    ASSERT_TRUE(run.ok()) << run.workers[0].status() << run.servers[0];
    ASSERT_TRUE(other.ok()) << other.workers[0].status() << other.servers[0];
    for (size_t rank = 0; rank < run.workers.size(); ++rank) {
      EXPECT_EQ(run.workers[rank]->weights, other.workers[rank]->weights);
      EXPECT_EQ(run.workers[rank]->statistics, other.workers[rank]->statistics);
    }
  }

  // Why the job did not begin. The others may only have heard of that.
  static std::string Refusal(const ClusterRun& run) {
    for (const auto& worker : run.workers) {
      if (absl::IsFailedPrecondition(worker.status())) {
        return std::string(worker.status().message());
      }
    }
    return "not refused";
  }

  static void ExpectStopped(const ClusterRun& run, int push = 8) {
    for (const auto& worker : run.workers) {
      EXPECT_TRUE(absl::IsUnavailable(worker.status())) << worker.status();
      EXPECT_THAT(
          std::string(worker.status().message()),
          testing::HasSubstr(absl::StrCat("asked to end after push ", push)));
    }
    for (const absl::Status& server : run.servers) {
      EXPECT_TRUE(absl::IsUnavailable(server)) << server;
    }
  }

  // As if everything had been killed before the job was done.
  void ForgetTheEnd() const {
    for (const auto& process :
         std::filesystem::directory_iterator(folder_ + "/checkpoints")) {
      std::filesystem::remove(process.path() / "done");
    }
  }

  const std::string folder_ = testing::TempDir() + "/resume_test";
};

struct ResumedJob {
  std::string name;
  std::vector<std::string> overrides;
  // Whether it goes on with another number of workers.
  bool other_workers = true;
  PatternRates rates = {};
};

class ResumeEveryJob : public Resume,
                       public testing::WithParamInterface<ResumedJob> {};

// Optimizers, compressors and modes of every kind.
inline std::vector<ResumedJob> ResumedJobs() {
  const std::vector<std::string> delta = {"optimizer.name=sgd",
                                          "optimizer.learning_rate=1",
                                          "optimizer.weight_decay=0",
                                          "worker_optimizer.name=momentum",
                                          "worker_optimizer.learning_rate=0.05",
                                          "worker_optimizer.momentum=0.9"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), delta.begin(), delta.end());
    return more;
  };
  const PatternRates rates = {{"conv1.*", 0}, {"fc1.*", 0}, {"fc3.*", 0.5}};
  const std::vector<std::string> sidco = {"compressor.name=sidco_e",
                                          "compressor.ratio=0.01"};
  return {
      {"None", {}},
      {"DeltaWithSidco",
       with({"compressor.name=sidco_e", "compressor.ratio=0.01",
             "compressor.value_code=int8_block"})},
      {"DeltaWithAdamwAndLocalSteps",
       {"optimizer.name=nesterov", "optimizer.learning_rate=0.7",
        "optimizer.momentum=0.9", "optimizer.weight_decay=0",
        "worker_optimizer.name=adamw", "worker_optimizer.learning_rate=0.002",
        "compressor.name=topk", "compressor.ratio=0.05",
        "consistency.local_steps=2", "training.max_iterations=24",
        "training.epochs=4"}},
      {"DgcWithCorrection",
       {"optimizer.name=sgd", "optimizer.weight_decay=0", "compressor.name=dgc",
        "compressor.ratio=0.01", "compressor.momentum_correction.momentum=0.9",
        "compressor.clip_norm=1", "downlink.mode=UPDATE"}},
      {"AdamWithCompressedAnswers",
       {"optimizer.name=adam", "optimizer.learning_rate=0.002",
        "compressor.name=sidco_e", "compressor.ratio=0.01",
        "downlink.mode=COMPRESSED", "downlink.compressor.name=randomk",
        "downlink.compressor.ratio=0.05"}},
      {"LambWithRandomK",
       {"optimizer.name=lamb", "optimizer.learning_rate=0.01",
        "compressor.name=randomk", "compressor.ratio=0.05"}},
      {"NovogradWithPowerSgd",
       {"optimizer.name=novograd", "optimizer.learning_rate=0.01",
        "compressor.name=powersgd"}},
      {"StatisticsOfBatches",
       {"model.name=resnet20", "training.batch_size=4",
        "compressor.name=sidco_e", "compressor.ratio=0.01"}},
      // Interrupted between the last evaluation that counts and the one at
      // which it ends, after 9 iterations.
      {"StopsEarly",
       {"training.evaluate_every_iterations=3",
        "training.early_stopping.patience=2",
        "training.early_stopping.min_delta=1"}},
      // Each worker leads in its turn.
      {"ScaleComWithPartOfTheResidual",
       {"optimizer.name=sgd", "optimizer.weight_decay=0",
        "compressor.name=scalecom", "compressor.ratio=0.01",
        "compressor.feedback_share=0.5", "compressor.value_code=int8_block"}},
      // It stops when codes are sent, and begins again from a snapshot of the
      // training of the autoencoder.
      {"LgcThroughItsPhases",
       {"optimizer.name=sgd", "optimizer.weight_decay=0", "compressor.name=lgc",
        "compressor.ratio=0.05", "compressor.lgc.train_iterations=3",
        "compressor.lgc.gate_error=100", "compressor.lgc.gate_gain=100",
        "compressor.lgc.check_error=100", "compressor.lgc.check_every=4",
        "compressor.lgc.min_values=64"}},
      // It stops in a parallel phase, with a worker for each stage.
      {"Stages",
       {"model.name=resnet20", "data.digits.train_examples=97",
        "training.epochs=4", "training.layer_parallel.stages=2",
        "training.layer_parallel.method=AUGMENTED_LAGRANGIAN",
        "training.layer_parallel.warm_start_epochs=1",
        "training.layer_parallel.parallel_epochs=2",
        "training.layer_parallel.serial_epochs=1"},
       /*other_workers=*/false},
      {"FrozenLayers", sidco, /*other_workers=*/true, rates},
      {"DeltaWithFrozenLayers",
       with({"compressor.name=topk", "compressor.ratio=0.05",
             "worker_optimizer.clip_norm=1"}),
       /*other_workers=*/true, rates},
      {"Bf16Answers", {"downlink.value_code=bf16"}},
      {"QuantizedWithRandomBits",
       {"compressor.name=topk", "compressor.ratio=0.05",
        "compressor.value_code=qsgd", "compressor.values.bits=8"}},
  };
}

}  // namespace ps

#endif  // TESTS_CLUSTER_RESUMED_JOBS_H_
