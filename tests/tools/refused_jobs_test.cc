// Jobs that are refused before they start, and what is said of them.
#include <string>
#include <vector>

#include "common/config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

// Changes that make a job invalid, and a part of what must be said of it.
struct Refusal {
  std::vector<std::string> overrides;
  std::string complaint;
};

void ExpectRefused(const std::vector<std::string>& kind,
                   const std::vector<Refusal>& refusals) {
  JobConfig valid;
  for (const std::string text :
       {"model.name=lenet5", "data.name=digits", "optimizer.name=momentum",
        "optimizer.learning_rate=0.05", "cluster.num_workers=3",
        "cluster.num_servers=2", "security.mode=INSECURE"}) {
    ASSERT_TRUE(ApplyOverride(text, &valid).ok()) << text;
  }
  for (const std::string& text : kind) {
    ASSERT_TRUE(ApplyOverride(text, &valid).ok()) << text;
  }
  ASSERT_TRUE(ValidateConfig(valid).ok()) << ValidateConfig(valid);
  for (const Refusal& refusal : refusals) {
    JobConfig job = valid;
    for (const std::string& text : refusal.overrides) {
      ASSERT_TRUE(ApplyOverride(text, &job).ok()) << text;
    }
    const absl::Status status = ValidateConfig(job);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(refusal.complaint));
  }
}

TEST(RefusedJobs, InModesOfConsistency) {
  ExpectRefused(
      {},
      {{{"consistency.staleness=-1"}, "consistency.staleness is -1"},
       {{"consistency.step_timeout_seconds=1"},
        "consistency.min_workers is 0; must be above 0 and below"},
       {{"consistency.min_workers=4"},
        "consistency.min_workers is 4; must be in [0, 3]"},
       {{"consistency.min_workers=2"},
        "consistency.min_workers is 2; needs "
        "consistency.step_timeout_seconds"},
       {{"consistency.mode=ASYNCHRONOUS", "consistency.step_timeout_seconds=1"},
        "consistency.step_timeout_seconds is 1; must be 0 unless"},
       {{"consistency.mode=ASYNCHRONOUS", "consistency.digest_every=5"},
        "consistency.digest_every is 5; must be 0 unless"},
       {{"consistency.mode=ASYNCHRONOUS",
         "checkpoint.replace_lost_workers=true"},
        "checkpoint.replace_lost_workers is true; must be false unless "
        "consistency.mode is SYNCHRONOUS"},
       {{"consistency.local_steps=0"}, "consistency.local_steps is 0"},
       {{"consistency.mode=ASYNCHRONOUS", "optimizer.name=lamb"},
        "consistency.mode is ASYNCHRONOUS; must be SYNCHRONOUS with "
        "\"lars\""},
       {{"consistency.mode=STALE_SYNCHRONOUS", "downlink.mode=COMPRESSED",
         "downlink.compressor.name=topk"},
        "consistency.mode is STALE_SYNCHRONOUS; must be SYNCHRONOUS "
        "with downlink.compressor"},
       {{"consistency.mode=ASYNCHRONOUS", "optimizer.name=sgd",
         "downlink.mode=UPDATE", "downlink.compressor.value_code=int8_block"},
        "consistency.mode is ASYNCHRONOUS; must be SYNCHRONOUS with "
        "downlink.compressor"},
       {{"optimizer.name=sgd", "downlink.mode=UPDATE",
         "downlink.compressor.name=topk"},
        "downlink.compressor.name is \"topk\"; must be \"none\" with "
        "downlink.mode UPDATE"},
       {{"optimizer.name=sgd", "downlink.mode=UPDATE",
         "downlink.value_code=bf16",
         "downlink.compressor.value_code=int8_block"},
        "downlink.value_code is \"bf16\"; must be \"fp32\" with a "
        "downlink.compressor"},
       {{"downlink.compressor.name=topk"},
        "downlink.mode is AUTO; must be UPDATE, COMPRESSED or MEAN with a "
        "downlink.compressor"}});
}

TEST(RefusedJobs, WithAnOptimizerOfTheWorkers) {
  ExpectRefused(
      {"worker_optimizer.name=momentum", "worker_optimizer.learning_rate=0.05",
       "optimizer.name=sgd", "optimizer.learning_rate=1",
       "compressor.name=topk", "compressor.ratio=0.05"},
      {{{"worker_optimizer.name=sdg"}, "worker_optimizer.name is"},
       {{"worker_optimizer.name=lamb"},
        "worker_optimizer.name is \"lamb\"; must be a rule that needs "
        "no norms"},
       {{"worker_optimizer.learning_rate=0"},
        "worker_optimizer.learning_rate is 0; must be above 0"},
       {{"worker_optimizer.name=adamw", "checkpoint.replace_lost_workers=true"},
        "checkpoint.replace_lost_workers is true; must be false with "
        "worker_optimizer adam and adamw"},
       {{"worker_optimizer.step_ahead=1.5"},
        "worker_optimizer.step_ahead is 1.5; must be in [0, 1]"},
       {{"optimizer.step_ahead=0.5"},
        "optimizer.step_ahead is 0.5; is a field of"},
       {{"worker_optimizer.sparse_update=LAZY"},
        "worker_optimizer.sparse_update is LAZY; must be DENSE"},
       {{"optimizer.name=lars"},
        "optimizer.name is \"lars\"; must be a rule without norms"},
       {{"optimizer.clip_norm=1"}, "optimizer.clip_norm 0, with"},
       {{"compressor.clip_norm=1"},
        "compressor.clip_norm is 1; must be 0 with worker_optimizer"},
       {{"compressor.error_feedback=false"},
        "compressor.error_feedback is false; must be true with"},
       {{"compressor.momentum_correction.momentum=0.9"},
        "compressor.momentum_correction.momentum is 0.9; must be 0"}});
}

TEST(RefusedJobs, WithNamesOfOtherPrograms) {
  ExpectRefused(
      {}, {{{"optimizer.name=SGD"}, "novograd, sgd; did you mean \"sgd\"?"},
           {{"compressor.value_code=int8"}, "did you mean \"int8_block\"?"},
           {{"data.name=imagenet"}, "did you mean \"image_folder\"?"},
           {{"model.name=ResNet18"}, "did you mean \"resnet18\"?"}});
}

TEST(RefusedJobs, WithLocalStepsOfServers) {
  ExpectRefused(
      {},
      {{{"consistency.local_steps=2"},
        "consistency.local_steps is 2; must be 1 without worker_optimizer"}});
}

TEST(RefusedJobs, WithLgc) {
  ExpectRefused(
      {"compressor.name=lgc", "compressor.ratio=0.05"},
      {{{"consistency.mode=ASYNCHRONOUS"},
        "consistency.mode is ASYNCHRONOUS; must be SYNCHRONOUS"},
       {{"compressor.value_code=bf16"},
        "compressor.value_code is bf16; must be fp32 with compressor"},
       {{"compressor.momentum_correction.momentum=0.9"},
        "compressor.momentum_correction.momentum is 0.9; must be 0"},
       {{"compressor.warmup.stages=2"},
        "compressor.warmup.rule is QUARTER; must be DENSE"},
       {{"compressor.lgc.innovation=0.3"},
        "compressor.lgc.innovation is 0.3; must be in [0, 0.2]"},
       {{"compressor.lgc.train_iterations=0"},
        "compressor.lgc.train_iterations is 0; must be at least 1"},
       {{"compressor.lgc.gate_error=0"},
        "compressor.lgc.gate_error is 0; must be above 0"}});
}

TEST(RefusedJobs, WithScaleCom) {
  const std::string why =
      "with compressor.name \"scalecom\", whose workers send the positions "
      "that one of them selects";
  ExpectRefused(
      {"compressor.name=scalecom", "optimizer.name=sgd"},
      {{{"consistency.mode=ASYNCHRONOUS"},
        "consistency.mode is ASYNCHRONOUS; must be SYNCHRONOUS " + why},
       {{"consistency.mode=STALE_SYNCHRONOUS"}, "must be SYNCHRONOUS"},
       {{"consistency.step_timeout_seconds=1", "consistency.min_workers=1",
         "compressor.name=lgc"},
        "consistency.step_timeout_seconds is 1; must be 0 with "
        "compressor.name \"lgc\", which decodes"},
       {{"compressor.name=auto", "compressor.auto.compressor=scalecom"},
        "compressor.auto.compressor is \"scalecom\"; must be one"},
       {{"compressor.feedback_share=0.5", "worker_optimizer.name=sgd",
         "optimizer.learning_rate=1"},
        "compressor.feedback_share is 0.5; must be 1 with "
        "worker_optimizer"},
       {{"consistency.mean=SENDERS"},
        "consistency.mean is SENDERS; must be WORKERS with compressor.name"},
       {{"consistency.answer_delay=2", "consistency.local_steps=2"},
        "consistency.answer_delay is 2; must be below consistency.local_steps, "
        "2: the next push needs the answer"},
       {{"compressor.feedback_decay=0.5", "worker_optimizer.name=sgd",
         "optimizer.learning_rate=1"},
        "compressor.feedback_decay is 0.5; must be 1 with worker_optimizer, "
        "whose own weights are ahead of the servers' by the residual, unless "
        "worker_optimizer.step_ahead is 0"},
       {{"downlink.mode=COMPRESSED", "downlink.compressor.name=topk",
         "downlink.compressor.feedback_share=0.5"},
        "downlink.compressor.feedback_share is 0.5; must be 1"}});
}

TEST(RefusedJobs, ThatStopEarlyWhereWorkersAreInDifferentIterations) {
  const std::string complaint =
      "training.early_stopping.patience is 2; must be 0 unless "
      "consistency.mode is SYNCHRONOUS";
  ExpectRefused(
      {"training.early_stopping.patience=2"},
      {{{"consistency.mode=ASYNCHRONOUS"}, complaint},
       {{"consistency.mode=STALE_SYNCHRONOUS"}, complaint},
       {{"consistency.step_timeout_seconds=1", "consistency.min_workers=2"},
        complaint}});
}

}  // namespace
}  // namespace ps
