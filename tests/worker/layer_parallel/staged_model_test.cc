// Whole trainings in stages: phases, repeats, snapshots, and what is refused.

#include "worker/layer_parallel/staged_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/config.h"
#include "common/random.h"
#include "compressors/state_io.h"
#include "data/dataset.h"
#include "glog/logging.h"
#include "gtest/gtest.h"
#include "tests/data/scratch_folder.h"
#include "tests/worker/layer_parallel/small_job.h"
#include "worker/evaluator.h"
#include "worker/training_parts.h"

namespace ps {
namespace {

// One worker's training by plain SGD.
class Training {
 public:
  explicit Training(const JobConfig& job) {
    auto parts = MakeTrainingParts(job, 0);
    CHECK(parts.ok()) << parts.status();
    parts_ = *std::move(parts);
    const int64_t n = parts_.model->num_parameters();
    weights_ = *parts_.backend->Allocate({n});
    gradient_ = *parts_.backend->Allocate({n});
    parts_.model->InitializeWeights(1, weights_.data());
  }

  void RunTo(int64_t iteration, double rate = 0.05) {
    for (; iteration_ < iteration; ++iteration_) {
      const int64_t per_epoch = parts_.plan->sampler.iterations_per_epoch();
      Batch batch;
      batch.random_key = RandomKey(static_cast<uint64_t>(iteration_));
      CHECK(parts_.data.train
                ->Read(parts_.plan->sampler.Numbers(iteration_, 0),
                       iteration_ / per_epoch, &batch)
                .ok());
      const auto result =
          parts_.model->ForwardBackward(batch, weights_, &gradient_, nullptr);
      CHECK(result.ok()) << result.status();
      losses_.push_back(result->loss);
      for (int64_t i = 0; i < weights_.size(); ++i) {
        weights_.data()[i] -= static_cast<float>(rate) * gradient_.data()[i];
      }
    }
  }

  void RunAll(double rate = 0.05) {
    RunTo(parts_.plan->total_iterations, rate);
  }

  // With a rate that falls to 0.
  void RunAllDecaying(double rate) {
    const int64_t total = parts_.plan->total_iterations;
    while (iteration_ < total) {
      const double done =
          static_cast<double>(iteration_) / static_cast<double>(total);
      RunTo(iteration_ + 1, rate * (1 - done));
    }
  }

  // Goes on where `other` is, from what a snapshot holds.
  void Resume(const Training& other) {
    iteration_ = other.iteration_;
    std::copy_n(other.weights_.data(), weights_.size(), weights_.data());
    Tensor& statistics = parts_.model->statistics_values();
    std::copy_n(other.parts_.model->statistics_values().data(),
                statistics.size(), statistics.data());
    const auto state = other.parts_.model->SaveState();
    CHECK(state.ok());
    CHECK(parts_.model->LoadState(*state).ok());
  }

  double Accuracy() {
    const auto evaluation =
        Evaluate(*parts_.data.test, weights_, parts_.model.get());
    CHECK(evaluation.ok()) << evaluation.status();
    return Score(*evaluation);
  }

  std::vector<float> weights() const {
    return {weights_.data(), weights_.data() + weights_.size()};
  }
  void set_weights(const std::vector<float>& weights) {
    std::copy(weights.begin(), weights.end(), weights_.data());
  }
  std::vector<float> gradient() const {
    return {gradient_.data(), gradient_.data() + gradient_.size()};
  }
  std::vector<float> statistics() const {
    const Tensor& values = parts_.model->statistics_values();
    return {values.data(), values.data() + values.size()};
  }
  const std::vector<double>& losses() const { return losses_; }
  TrainingParts& parts() { return parts_; }

 private:
  TrainingParts parts_;
  Tensor weights_;
  Tensor gradient_;
  int64_t iteration_ = 0;
  std::vector<double> losses_;
};

TEST(StagedModel, OneStageAndSerialEpochsAreOrdinaryTraining) {
  JobConfig ordinary = SmallJob();
  ordinary.mutable_training()->clear_layer_parallel();
  Training expected(ordinary);
  expected.RunAll();

  JobConfig one = SmallJob();
  Section(&one)->set_stages(1);
  Training one_stage(one);
  one_stage.RunAll();
  EXPECT_EQ(one_stage.weights(), expected.weights());

  JobConfig serial = SmallJob();
  Section(&serial)->set_warm_start_epochs(6);
  Training in_stages(serial);
  in_stages.RunAll();
  EXPECT_EQ(in_stages.losses(), expected.losses());
  EXPECT_EQ(in_stages.weights(), expected.weights());
  EXPECT_EQ(in_stages.statistics(), expected.statistics());
}

TEST(StagedModel, TrainingsRepeatBitForBit) {
  for (const bool aux_network : {false, true}) {
    JobConfig job = SmallJob();
    if (aux_network) Section(&job)->mutable_aux_network();
    if (aux_network) Section(&job)->set_stages(2);
    if (aux_network) Section(&job)->add_cut_before("block2");
    Training one(job);
    Training other(job);
    one.RunAll();
    other.RunAll();
    EXPECT_EQ(one.weights(), other.weights());
    EXPECT_EQ(one.losses(), other.losses());
    EXPECT_LT(one.losses().back(), one.losses().front());
  }
}

TEST(StagedModel, GoesOnFromAnySnapshotWithTheSameBits) {
  for (const auto method : {LayerParallelConfig::PENALTY,
                            LayerParallelConfig::AUGMENTED_LAGRANGIAN}) {
    JobConfig job = SmallJob();
    Section(&job)->set_method(method);
    Training expected(job);
    expected.RunAll();
    Training saved(job);
    for (int64_t iteration = 0; iteration <= 18; ++iteration) {
      saved.RunTo(iteration);
      Training resumed(job);
      resumed.Resume(saved);
      resumed.RunAll();
      EXPECT_EQ(resumed.weights(), expected.weights()) << iteration;
      EXPECT_EQ(resumed.statistics(), expected.statistics()) << iteration;
    }
  }
}

TEST(StagedModel, DamagedStateIsRefused) {
  Training training(SmallJob());
  training.RunTo(8);
  std::string state = *training.parts().model->SaveState();
  for (size_t i = 0; i < state.size(); i += state.size() / 50) {
    std::string damaged = state;
    damaged[i] ^= 1;
    Training fresh(SmallJob());
    EXPECT_EQ(fresh.parts().model->LoadState(damaged).code(),
              absl::StatusCode::kDataLoss);
    EXPECT_EQ(fresh.parts().model->LoadState(state.substr(0, i)).code(),
              absl::StatusCode::kDataLoss);
  }
  JobConfig other = SmallJob();
  other.mutable_data()->mutable_digits()->set_train_examples(50);
  Training fewer(other);
  EXPECT_EQ(fewer.parts().model->LoadState(state).code(),
            absl::StatusCode::kDataLoss);
}

// What the state of a training begins with.
struct BeginningOfState {
  double penalty = 0;
  std::string recorded;  // A byte for each example, 1 or 0.
};

BeginningOfState StateOf(Training* training) {
  const auto bytes = training->parts().model->SaveState();
  CHECK(bytes.ok()) << bytes.status();
  auto state = StateReader::Open("layer_parallel", *bytes);
  CHECK(state.ok()) << state.status();
  // The stages and the iteration.
  for (int i = 0; i < 3; ++i) CHECK(state->GetInt().ok());
  BeginningOfState beginning;
  beginning.penalty = *state->GetDouble();
  std::vector<float> ratios(*state->GetInt());
  CHECK(state->GetFloats(absl::MakeSpan(ratios)).ok());
  beginning.recorded = std::string(*state->GetBytes());
  return beginning;
}

TEST(StagedModel, ExamplesThatTheRecordingEpochLeftOutAreRecordedAsWell) {
  Training training(SmallJob());
  training.RunTo(6);
  std::string recorded = StateOf(&training).recorded;
  EXPECT_EQ(recorded.size(), 52u);
  EXPECT_EQ(std::count(recorded.begin(), recorded.end(), 1), 48);
  training.RunTo(7);
  recorded = StateOf(&training).recorded;
  EXPECT_EQ(std::count(recorded.begin(), recorded.end(), 1), 52);
}

TEST(StagedModel, PenaltyIsThatOfExamplesAndNotOfBatches) {
  const auto penalty = [](const JobConfig& job) {
    Training training(job);
    const int64_t epoch = training.parts().plan->sampler.iterations_per_epoch();
    training.RunTo(2 * epoch + 1, /*rate=*/0);
    return StateOf(&training).penalty;
  };
  JobConfig job = SmallJob();
  job.mutable_training()->set_batch_size(26);
  const double chosen = penalty(job);
  EXPECT_GT(chosen, 0);
  // Not exactly, since normalisation sees other batches.
  job.mutable_training()->set_batch_size(52);
  EXPECT_NEAR(penalty(job) / chosen, 1, 0.3);
  job.mutable_training()->set_batch_size(26);
  Section(&job)->set_penalty_scale(3);
  EXPECT_NEAR(penalty(job) / chosen, 2, 1e-6);
  Section(&job)->set_penalty(0.25);
  EXPECT_EQ(penalty(job), 0.25);
}

// With weights that stay, the first parallel step of a training with
// multipliers is back-propagation.
TEST(StagedModel, MultipliersFromTheRecordingGiveTheSerialGradient) {
  JobConfig job = SmallJob();
  Section(&job)->set_method(LayerParallelConfig::AUGMENTED_LAGRANGIAN);
  Section(&job)->set_inner_steps(1);
  // Batches of all examples, in two orders: normalisation sees the same.
  job.mutable_training()->set_batch_size(52);
  Training parallel(job);
  parallel.RunTo(3, /*rate=*/0);  // Two serial epochs, and a parallel one.
  JobConfig serial = job;
  Section(&serial)->set_warm_start_epochs(6);
  Training expected(serial);
  expected.RunTo(3, /*rate=*/0);
  const std::vector<float> a = parallel.gradient();
  const std::vector<float> b = expected.gradient();
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5) << i;

  // The penalty method has nothing to go by yet.
  Section(&job)->set_method(LayerParallelConfig::PENALTY);
  Training penalty(job);
  penalty.RunTo(3, /*rate=*/0);
  EXPECT_NEAR(penalty.gradient()[0], 0, 1e-6);
}

// 10 images of 10 classes, of random bytes.
std::string RandomRecords(uint64_t key) {
  RandomStream random(key);
  std::string records;
  for (int i = 0; i < 10; ++i) {
    records += static_cast<char>(i);
    for (int j = 0; j < 3 * 32 * 32; ++j) {
      records += static_cast<char>(random.Below(256));
    }
  }
  return records;
}

TEST(StagedModel, WhatIsRecordedBelongsToImagesWithoutCropsAndFlips) {
  ScratchFolder folder;
  for (int i = 1; i <= 5; ++i) {
    folder.Write(absl::StrCat("data_batch_", i, ".bin"), RandomRecords(i));
  }
  folder.Write("test_batch.bin", RandomRecords(6));
  JobConfig job = SmallJob();
  job.mutable_data()->set_name("cifar10");
  job.mutable_data()->set_directory(folder.path());
  DatasetOptions plain;
  plain.config = job.data();
  plain.augment = false;
  const auto unchanged = NewDataset(plain);
  ASSERT_TRUE(unchanged.ok()) << unchanged.status();
  Batch expected;
  ASSERT_TRUE(unchanged->train->Read({7}, 0, &expected).ok());
  const auto plain_epochs = [&](const JobConfig& config) {
    const auto parts = MakeTrainingParts(config, 0);
    CHECK(parts.ok()) << parts.status();
    std::string epochs;
    for (int64_t epoch = 0; epoch < 6; ++epoch) {
      Batch batch;
      CHECK(parts->data.train->Read({7}, epoch, &batch).ok());
      EXPECT_EQ(batch.labels, expected.labels);
      epochs += batch.inputs == expected.inputs ? 'p' : 'c';
    }
    return epochs;
  };
  // Serial, recording, two parallel, two serial.
  EXPECT_EQ(plain_epochs(job), "cpppcc");
  // Networks generate variables from the images as they are.
  Section(&job)->set_stages(2);
  Section(&job)->add_cut_before("block2");
  Section(&job)->mutable_aux_network();
  EXPECT_EQ(plain_epochs(job), "cccccc");
}

TEST(StagedModel, ParallelPhasesLeaveStatisticsAlone) {
  Training training(SmallJob());
  training.RunTo(6);  // The end of the warm start.
  const std::vector<float> before = training.statistics();
  training.RunTo(12);
  EXPECT_EQ(training.statistics(), before);
  training.RunTo(13);
  EXPECT_NE(training.statistics(), before);
}

// Workers leave such an iteration out (training.non_finite: SKIP), and go on
// with the weights before it.
TEST(StagedModel, AnIterationThatIsNotFiniteLeavesVariablesAlone) {
  for (const auto wire :
       {LayerParallelConfig::FP32, LayerParallelConfig::FP16}) {
    JobConfig job = SmallJob();
    Section(&job)->set_wire_format(wire);
    Training skips(job);
    constexpr int64_t kParallel = 7;
    skips.RunTo(kParallel);
    const std::vector<float> weights = skips.weights();
    skips.set_weights(std::vector<float>(weights.size(), std::nanf("")));
    skips.RunTo(kParallel + 1);
    EXPECT_TRUE(std::isnan(skips.losses().back()));
    skips.set_weights(weights);
    skips.RunAll();
    const std::vector<double>& losses = skips.losses();
    for (size_t i = kParallel + 1; i < losses.size(); ++i) {
      EXPECT_TRUE(std::isfinite(losses[i])) << i;
    }
  }
}

TEST(StagedModel, FilterAndWireFormatChangeParallelPhasesOnly) {
  JobConfig job = SmallJob();
  // Cuts of 28 x 28.
  job.mutable_model()
      ->mutable_layers()
      ->mutable_layer(0)
      ->mutable_convolution()
      ->set_stride(1);
  JobConfig filtered = job;
  Section(&filtered)->set_filter_extent(2);
  JobConfig rounded = job;
  Section(&rounded)->set_wire_format(LayerParallelConfig::FP16);
  Training plain(job);
  plain.RunTo(6);
  const std::vector<float> warm = plain.weights();
  plain.RunAll();
  for (const JobConfig& variant : {filtered, rounded}) {
    Training other(variant);
    other.RunTo(6);
    EXPECT_EQ(other.weights(), warm);
    other.RunAll();
    EXPECT_NE(other.weights(), plain.weights());
  }
  // Smaller activations are not filtered.
  JobConfig small = SmallJob();
  Training expected(small);
  expected.RunAll();
  Section(&small)->set_filter_extent(2);
  Training not_filtered(small);
  not_filtered.RunAll();
  EXPECT_EQ(not_filtered.weights(), expected.weights());
}

// The same number of epochs, serial or in phases, and a serial training for as
// many epochs as the phases have serial ones.
TEST(StagedModel, PhasesReachTheSerialResultAndBeatTheirSerialShare) {
  JobConfig job = SmallJob();
  job.mutable_data()->mutable_digits()->set_train_examples(1000);
  job.mutable_data()->mutable_digits()->set_test_examples(8000);
  TrainingConfig& training = *job.mutable_training();
  training.set_epochs(20);
  Section(&job)->set_warm_start_epochs(2);
  Section(&job)->set_parallel_epochs(3);
  Section(&job)->set_serial_epochs(1);
  const auto accuracy = [](const JobConfig& config) {
    Training run(config);
    run.RunAllDecaying(0.4);
    return run.Accuracy();
  };
  const double phases = accuracy(job);
  JobConfig multipliers = job;
  Section(&multipliers)->set_method(LayerParallelConfig::AUGMENTED_LAGRANGIAN);
  const double with_multipliers = accuracy(multipliers);
  training.clear_layer_parallel();
  const double serial = accuracy(job);
  training.set_epochs(7);
  const double serial_share = accuracy(job);
  LOG(INFO) << "accuracy: serial " << serial << ", phases " << phases
            << ", with multipliers " << with_multipliers
            << ", the serial share alone " << serial_share;
  // With 8000 test examples, an accuracy has a standard error of 0.003.
  EXPECT_GT(phases, serial - 0.02);
  EXPECT_GT(phases, serial_share);
  EXPECT_GT(with_multipliers, serial - 0.02);
  EXPECT_GT(with_multipliers, serial_share);
}

std::string Refusal(const JobConfig& job) {
  const auto parts = MakeTrainingParts(job, 0);
  EXPECT_FALSE(parts.ok());
  return std::string(parts.status().message());
}

TEST(StagedModel, WhatDoesNotFitIsRefused) {
  JobConfig job = SmallJob();
  Section(&job)->set_memory_limit_megabytes(0.1);
  const std::string memory = Refusal(job);
  for (const char* part :
       {"memory_limit_megabytes is 0.1", "filter_extent", "aux_network"}) {
    EXPECT_TRUE(absl::StrContains(memory, part)) << memory;
  }
  job = SmallJob();
  Section(&job)->set_stages(4);
  EXPECT_TRUE(absl::StrContains(Refusal(job), "at most 3 stages"));
  job = SmallJob();
  Section(&job)->mutable_aux_network();
  EXPECT_TRUE(absl::StrContains(Refusal(job), "at most 10 % and 15 %"));
}

std::string Problems(const JobConfig& job) {
  const absl::Status status = ValidateConfig(job);
  return std::string(status.message());
}

TEST(StagedModel, ConfigsThatTheMethodDoesNotCoverAreRefused) {
  EXPECT_EQ(Problems(SmallJob()), "");
  JobConfig job = SmallJob();
  LayerParallelConfig& section = *Section(&job);
  section.set_stages(0);
  section.set_inner_steps(101);
  section.set_filter_extent(0);
  section.set_warm_start_epochs(0);
  section.set_parallel_epochs(-1);
  section.set_serial_epochs(0);
  section.set_penalty(-1);
  section.set_penalty_scale(std::nan(""));
  section.set_step_size(std::numeric_limits<double>::infinity());
  section.set_memory_limit_megabytes(0);
  section.set_method(LayerParallelConfig::AUGMENTED_LAGRANGIAN);
  section.mutable_aux_network()->set_learning_rate(0);
  section.add_cut_before("block1");
  job.mutable_cluster()->set_num_workers(2);
  job.mutable_consistency()->set_mode(ConsistencyConfig::ASYNCHRONOUS);
  job.mutable_checkpoint()->set_replace_lost_workers(true);
  job.mutable_training()->set_precision(TrainingConfig::BF16);
  const std::string problems = Problems(job);
  for (const char* part :
       {"layer_parallel.stages is 0", "inner_steps is 101",
        "filter_extent is 0", "warm_start_epochs is 0", "parallel_epochs is -1",
        "serial_epochs is 0", "penalty is -1", "penalty_scale is nan",
        "step_size is inf", "memory_limit_megabytes is 0",
        "aux_network.learning_rate is 0", "method is AUGMENTED_LAGRANGIAN",
        "cut_before is a list of 1", "cluster.num_workers is 2",
        "consistency.mode is ASYNCHRONOUS",
        "checkpoint.replace_lost_workers is true",
        "training.precision is BF16"}) {
    EXPECT_TRUE(absl::StrContains(problems, part)) << part << "\n" << problems;
  }
}

}  // namespace
}  // namespace ps
