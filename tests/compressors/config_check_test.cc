#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config.h"
#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/config.pb.h"
#include "tests/compressors/harness.h"

namespace ps {
namespace {

std::vector<std::string> ProblemsOf(const JobConfig& config) {
  return FindProblems(config).lines();
}

std::vector<std::string> Problems(absl::string_view compressor) {
  JobConfig config;
  *config.mutable_compressor() = CompressorConfigFrom(compressor);
  return ProblemsOf(config);
}

TEST(CompressorConfigCheckTest, DefaultsAreSound) {
  EXPECT_THAT(Problems(""), testing::IsEmpty());
  EXPECT_THAT(Problems("name: 'sidco_e' ratio: 1 index_code: 'bitmap' "
                       "sidco { profile: PAPER overshoot_cap: 1 }"),
              testing::IsEmpty());
}

TEST(CompressorConfigCheckTest, EveryProblemIsReported) {
  EXPECT_THAT(
      Problems("name: 'topq' ratio: 1.5 index_code: 'dense' value_code: 'fp8' "
               "values { bits: 1 bucket_size: 0 clip: 0.5 threshold: 0 } "
               "sidco { stages: -1 start_stages: 0 adapt_every: 0 "
               "tolerance_low: 0 tolerance_high: 1 overshoot_cap: 0.5 "
               "first_stage_ratio: 1 exact_below: -1 min_exceedances: 0 "
               "refine_steps: 65 refine_tolerance: 0 } "
               "threshold { threshold: -1 } redsync { step: 1 } "
               "gaussiank { evaluations: 0 } "
               "dgc { sample_ratio: 0 overshoot_cap: 0.5 } clip_norm: -1 "
               "momentum_correction { momentum: 1 } error_feedback: false "
               "warmup { stages: -1 iterations_per_stage: 0 }"),
      testing::ElementsAre(
          "compressor.ratio is 1.5; must be in (0, 1]",
          "compressor.values.bits is 1; must be in [2, 8]",
          "compressor.values.bucket_size is 0; must be in [1, 1048576]",
          "compressor.values.clip is 0.5; must be at least 1, or 0 for none",
          "compressor.values.threshold is 0; must be above 0",
          "compressor.sidco.stages is -1; must be in [1, 64], or 0 for "
          "adaptive",
          "compressor.sidco.start_stages is 0; must be at least 1",
          "compressor.sidco.adapt_every is 0; must be at least 1",
          "compressor.sidco.tolerance_low is 0; must be in (0, 1)",
          "compressor.sidco.tolerance_high is 1; must be in (0, 1)",
          "compressor.sidco.overshoot_cap is 0.5; must be at least 1, or 0 "
          "for none",
          "compressor.sidco.first_stage_ratio is 1; must be in (0, 1)",
          "compressor.sidco.exact_below is -1; must be at least 0",
          "compressor.sidco.min_exceedances is 0; must be at least 1",
          "compressor.sidco.refine_steps is 65; must be in [0, 64]",
          "compressor.sidco.refine_tolerance is 0; must be in (0, 1)",
          "compressor.threshold.threshold is -1; must be at least 0",
          "compressor.redsync.step is 1; must be in [1e-06, 1)",
          "compressor.gaussiank.evaluations is 0; must be in [1, 1000]",
          "compressor.dgc.sample_ratio is 0; must be in (0, 1]",
          "compressor.dgc.overshoot_cap is 0.5; must be at least 1",
          "compressor.momentum_correction.momentum is 1; must be in (0, 1), or "
          "0 for none",
          "compressor.clip_norm is -1; must be above 0, or 0 for no limit",
          "compressor.warmup.stages is -1; must be in [1, 1000], or 0 for no "
          "warm-up",
          "compressor.warmup.iterations_per_stage is 0; must be at least 1",
          "compressor.name is \"topq\"; must be one of " +
              absl::StrJoin(CompressorRegistry().Names(), ", ") +
              "; did you mean \"topk\"?",
          "compressor.index_code is \"dense\"; must be one of auto, raw32, "
          "delta_varint, bitmap, rice, elias_fano",
          "compressor.value_code is \"fp8\"; must be one of " +
              absl::StrJoin(ValueCodeNames(), ", "),
          "compressor.error_feedback is false; must be true with "
          "momentum_correction, which adds to the residual"));
}

TEST(CompressorConfigCheckTest, MomentumCorrectionIsTheOnlyMomentum) {
  JobConfig config;
  config.mutable_compressor()->mutable_momentum_correction()->set_momentum(0.9);
  EXPECT_THAT(ProblemsOf(config), testing::IsEmpty());
  config.mutable_optimizer()->set_name("nesterov");
  EXPECT_THAT(ProblemsOf(config),
              testing::ElementsAre(
                  "optimizer.name is \"nesterov\"; must be \"sgd\" with "
                  "compressor.momentum_correction, which is the momentum"));
}

TEST(CompressorConfigCheckTest, ClippingNeedsTheWholeGradient) {
  JobConfig config;
  config.mutable_compressor()->set_clip_norm(1);
  EXPECT_THAT(ProblemsOf(config), testing::IsEmpty());
  config.mutable_training()->set_bucket_megabytes(4);
  EXPECT_THAT(ProblemsOf(config),
              testing::ElementsAre(
                  "training.bucket_megabytes is 4; must be 0 with "
                  "compressor.clip_norm, which needs the norm of the whole "
                  "gradient"));
}

TEST(CompressorConfigCheckTest, NotANumberIsAProblem) {
  EXPECT_THAT(Problems("ratio: nan"), testing::SizeIs(1));
  EXPECT_THAT(Problems("sidco { overshoot_cap: nan tolerance_low: nan }"),
              testing::SizeIs(2));
  EXPECT_THAT(Problems("threshold { threshold: nan } redsync { step: nan } "
                       "dgc { sample_ratio: nan overshoot_cap: nan }"),
              testing::SizeIs(4));
  EXPECT_THAT(Problems("threshold { threshold: inf }"), testing::SizeIs(1));
  EXPECT_THAT(Problems("clip_norm: inf momentum_correction { momentum: nan }"),
              testing::SizeIs(2));
  EXPECT_THAT(
      Problems("clip_norm: nan"),
      testing::Contains(testing::HasSubstr("compressor.clip_norm is nan")));
}

TEST(CompressorConfigCheckTest, CompressorWithItsOwnCodeWantsNoOther) {
  for (const std::string name : {"adacomp", "powersgd"}) {
    EXPECT_THAT(Problems("name: '" + name + "'"), testing::IsEmpty());
    EXPECT_THAT(
        Problems("name: '" + name + "' value_code: 'qsgd' index_code: 'rice'"),
        testing::ElementsAre(
            "compressor.index_code is \"rice\"; " + name +
                " writes a code of its own; must be \"auto\", the default",
            "compressor.value_code is \"qsgd\"; " + name +
                " writes a code of its own; must be \"fp32\", the default"));
  }
}

TEST(CompressorConfigCheckTest, RatioIsTheTargetOfAllButTheseCompressors) {
  std::vector<std::string> without;
  for (const std::string& name : CompressorRegistry().Names()) {
    if (!FindCompressor(name).has_target_ratio) without.push_back(name);
  }
  EXPECT_THAT(without,
              testing::ElementsAre("adacomp", "none", "powersgd", "threshold"));
}

TEST(CompressorConfigCheckTest, OptionsOfAdaCompAreChecked) {
  const absl::string_view bad =
      "name: 'adacomp' adacomp { convolution_bin_size: 0 bin_size: 16384 "
      "scale_factor: 0.5 dense_below: -1 }";
  EXPECT_THAT(Problems(bad),
              testing::ElementsAre(
                  "compressor.adacomp.convolution_bin_size is 0; must be in "
                  "[1, 16383]",
                  "compressor.adacomp.bin_size is 16384; must be in [1, 16383]",
                  "compressor.adacomp.scale_factor is 0.5; must be "
                  "at least 1",
                  "compressor.adacomp.dense_below is -1; must be at least 0"));
  HarnessOptions options;
  options.config = CompressorConfigFrom(bad);
  EXPECT_EQ(NewCompressorStatus(options).message(),
            "adacomp.convolution_bin_size is 0; must be in [1, 16383]; "
            "adacomp.bin_size is 16384; must be in [1, 16383]; "
            "adacomp.scale_factor is 0.5; must be at least 1; "
            "adacomp.dense_below is -1; must be at least 0");
  EXPECT_THAT(Problems("adacomp { scale_factor: nan }"), testing::SizeIs(1));
}

TEST(CompressorConfigCheckTest, OptionsOfPowerSgdAreChecked) {
  const absl::string_view bad =
      "name: 'powersgd' powersgd { rank: 65 min_compression_rate: 0.5 }";
  EXPECT_THAT(Problems(bad),
              testing::ElementsAre(
                  "compressor.powersgd.rank is 65; must be in [1, 64]",
                  "compressor.powersgd.min_compression_rate is 0.5; must be "
                  "at least 1"));
  HarnessOptions options;
  options.config = CompressorConfigFrom(bad);
  EXPECT_EQ(NewCompressorStatus(options).message(),
            "powersgd.rank is 65; must be in [1, 64]; "
            "powersgd.min_compression_rate is 0.5; must be at "
            "least 1");
  EXPECT_THAT(Problems("powersgd { min_compression_rate: nan }"),
              testing::SizeIs(1));
}

TEST(CompressorConfigCheckTest, AutoChoosesAmongCompressorsWithARatio) {
  EXPECT_THAT(Problems("name: 'auto'"), testing::IsEmpty());
  EXPECT_THAT(Problems("name: 'auto' value_code: 'qsgdinf' error_feedback: "
                       "false auto { compressor: 'topk' decide_every: 10 }"),
              testing::IsEmpty());
  // All that have a ratio follow.
  const std::string rule = "must be one that has a ratio: chunk_topk, dgc, ";
  for (const char* name :
       {"auto", "none", "threshold", "adacomp", "powersgd", "topkk"}) {
    const std::string config = absl::StrCat("name: 'auto' auto { compressor: '",
                                            name, "' decide_every: 9 }");
    const std::vector<std::string> problems = {
        "auto.decide_every is 9; must be at least 10",
        absl::StrCat("auto.compressor is \"", name, "\"; ", rule)};
    EXPECT_THAT(
        Problems(config),
        testing::ElementsAre("compressor." + problems[0],
                             testing::StartsWith("compressor." + problems[1])));
    HarnessOptions options;
    options.config = CompressorConfigFrom(config);
    EXPECT_EQ(NewCompressorStatus(options).message(), problems[0]);
    options.config.mutable_auto_()->clear_decide_every();
    EXPECT_THAT(std::string(NewCompressorStatus(options).message()),
                testing::StartsWith(problems[1]));
  }
  // The choice of "auto" is not checked for other compressors.
  EXPECT_THAT(Problems("name: 'topk' auto { compressor: 'none' }"),
              testing::IsEmpty());
}

TEST(CompressorConfigCheckTest, AutoIsForWorkersThatSendValues) {
  JobConfig config;
  config.mutable_downlink()->set_mode(DownlinkConfig::COMPRESSED);
  config.mutable_downlink()->mutable_compressor()->set_name("auto");
  EXPECT_THAT(ProblemsOf(config),
              testing::ElementsAre(
                  "downlink.compressor.name is \"auto\"; must be another: "
                  "\"auto\" chooses by the time that a worker's iterations "
                  "take"));
  config.clear_downlink();
  config.mutable_compressor()->set_name("auto");
  config.mutable_optimizer()->set_majority_vote(true);
  EXPECT_THAT(ProblemsOf(config),
              testing::ElementsAre(
                  "optimizer.majority_vote is true; must be false with "
                  "compressor.name \"auto\", which sends values, not votes"));
}

// The problem with error_feedback or its absence, or an empty string.
std::string FeedbackProblem(absl::string_view compressor) {
  const std::vector<std::string> problems = Problems(compressor);
  EXPECT_LE(problems.size(), 1u) << absl::StrJoin(problems, "\n");
  if (problems.empty()) return "";
  EXPECT_THAT(problems[0],
              testing::StartsWith("compressor.error_feedback is "));
  return problems[0];
}

TEST(CombinationTest, BiasedValueCodesNeedErrorFeedback) {
  for (const char* code :
       {"sign", "onebit", "two_bit_threshold", "two_bit_bins"}) {
    for (const char* name : {"none", "topk"}) {
      const std::string config =
          absl::StrCat("name: '", name, "' value_code: '", code, "' ");
      EXPECT_EQ(FeedbackProblem(config), "");
      EXPECT_EQ(FeedbackProblem(config + "error_feedback: false"),
                absl::StrCat("compressor.error_feedback is false; value_code "
                             "\"",
                             code,
                             "\" needs it: it is biased, and what "
                             "it loses would never be made up for"));
    }
  }
}

// With omega above 1 the residual grows: in a reference run it grew to 127
// times the gradient within 40 steps at 1.4, and to 1.1e4 times at 11.
TEST(CombinationTest, LargeVarianceForbidsErrorFeedback) {
  const struct {
    const char* config;
    bool allowed;
  } kCases[] = {
      // By WorstVariance: sqrt(512) / 7 - 1 = 2.23.
      {"value_code: 'qsgd'", false},
      {"value_code: 'qsgd' values { bits: 5 }", true},           // 0.63
      {"value_code: 'qsgd' values { bucket_size: 128 }", true},  // 0.71
      {"value_code: 'qsgd' values { bits: 8 bucket_size: 65536 }", false},
      {"value_code: 'nuqsgd'", true},                      // 0.15
      {"value_code: 'nuqsgd' values { bits: 3 }", false},  // 4.7
      {"value_code: 'alq'", true},
      {"value_code: 'alq' values { bits: 3 }", false},
      // By GaussianVariance.
      {"value_code: 'qsgdinf'", true},
      {"value_code: 'qsgdinf' values { bits: 3 }", true},
      {"value_code: 'qsgdinf' values { bits: 2 }", false},
      {"value_code: 'natural_dithering' values { bits: 3 }", true},
      {"value_code: 'natural_dithering' values { bits: 2 }", false},
      {"value_code: 'ternary'", false},
      {"value_code: 'natural'", true},
      {"value_code: 'int8_block'", true},
      {"value_code: 'fp16'", true},
      {"value_code: 'bf16'", true},
      {"value_code: 'fp32'", true}};
  for (const auto& c : kCases) {
    EXPECT_EQ(FeedbackProblem(c.config).empty(), c.allowed) << c.config;
    EXPECT_EQ(FeedbackProblem(absl::StrCat(c.config, " error_feedback: false")),
              "");
  }
}

TEST(CombinationTest, VarianceIsSaidAndWhatToDoAboutIt) {
  EXPECT_EQ(FeedbackProblem("value_code: 'qsgd'"),
            "compressor.error_feedback is true; value_code \"qsgd\" may lose "
            "2.23 times the square of what it is given, and above 1 the "
            "residual grows without bound; must be false, or take more "
            "values.bits or a smaller values.bucket_size");
  EXPECT_EQ(FeedbackProblem("value_code: 'ternary'"),
            "compressor.error_feedback is true; value_code \"ternary\" may "
            "lose any number times the square of what it is given, and above "
            "1 the residual grows without bound; must be false");
}

TEST(CombinationTest, SelectionWithoutErrorFeedbackIsAllowed) {
  for (const std::string& name : CompressorRegistry().Names()) {
    const std::string problem =
        FeedbackProblem("error_feedback: false name: '" + name + "'");
    // Their own codes are biased.
    EXPECT_EQ(problem,
              !FindCompressor(name).writes_own_code
                  ? ""
                  : "compressor.error_feedback is false; " + name +
                        " needs it: it is biased, and what it loses would "
                        "never be made up for");
  }
}

TEST(CombinationTest, VotesNeedACountAndACountNeedsVotes) {
  JobConfig config;
  *config.mutable_compressor() = CompressorConfigFrom(
      "name: 'none' value_code: 'sign' values { sign_scale: ONE } "
      "error_feedback: false");
  const auto problems = [&config] { return FindProblems(config).lines(); };
  EXPECT_THAT(problems(),
              testing::ElementsAre("compressor.values.sign_scale is ONE; needs "
                                   "optimizer.majority_vote"));
  config.mutable_optimizer()->set_majority_vote(true);
  EXPECT_THAT(problems(), testing::IsEmpty());
  config.mutable_compressor()->set_error_feedback(true);
  config.mutable_compressor()->set_name("topk");
  EXPECT_THAT(problems(),
              testing::ElementsAre(
                  "compressor.name is \"topk\"; must be \"none\" with "
                  "values.sign_scale ONE: every worker votes on every element",
                  "compressor.error_feedback is true; must be false with "
                  "values.sign_scale ONE: a vote has nothing to do with how "
                  "much is left over"));
  const std::string wanted =
      "optimizer.majority_vote is true; needs votes: compressor.value_code "
      "\"sign\" with compressor.values.sign_scale ONE";
  for (const char* other :
       {"", "value_code: 'sign'", "values { sign_scale: ONE }"}) {
    *config.mutable_compressor() = CompressorConfigFrom(other);
    EXPECT_THAT(problems(), testing::ElementsAre(wanted));
  }
}

}  // namespace
}  // namespace ps
