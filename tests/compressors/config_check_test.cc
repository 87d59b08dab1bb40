#include "common/config_check.h"

#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"

namespace ps {
namespace {

std::vector<std::string> Problems(absl::string_view compressor) {
  JobConfig config;
  *config.mutable_compressor() = CompressorConfigFrom(compressor);
  ConfigProblems problems;
  for (const ConfigCheck check : ConfigChecks()) check(config, &problems);
  return problems.lines();
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
               "dgc { sample_ratio: 0 overshoot_cap: 0.5 }"),
      testing::ElementsAre(
          "compressor.name is \"topq\"; known are: " +
              absl::StrJoin(CompressorRegistry().Names(), ", "),
          "compressor.ratio is 1.5; must be in (0, 1]",
          "compressor.index_code is \"dense\"; known are: auto, raw32, "
          "delta_varint, bitmap, rice, elias_fano",
          "compressor.value_code is \"fp8\"; known are: bf16, fp16, fp32, "
          "int8_block, natural, nuqsgd, onebit, qsgd, qsgdinf, sign, ternary, "
          "two_bit_threshold",
          "compressor.values.bits is 1; must be 2 to 8",
          "compressor.values.bucket_size is 0; must be 1 to 1048576",
          "compressor.values.clip is 0.5; must be at least 1, or 0 for none",
          "compressor.values.threshold is 0; must be finite and above 0",
          "compressor.sidco.stages is -1; must be at least 1, or 0 for "
          "adaptive",
          "compressor.sidco.start_stages is 0; must be at least 1",
          "compressor.sidco.adapt_every is 0; must be at least 1",
          "compressor.sidco.tolerance_low is 0; must be in (0, 1)",
          "compressor.sidco.tolerance_high is 1; must be in (0, 1)",
          "compressor.sidco.first_stage_ratio is 1; must be in (0, 1)",
          "compressor.sidco.refine_tolerance is 0; must be in (0, 1)",
          "compressor.sidco.refine_steps is 65; must be in [0, 64]",
          "compressor.sidco.overshoot_cap is 0.5; must be at least 1, or 0 "
          "for none",
          "compressor.sidco.exact_below is -1; must be at least 0",
          "compressor.sidco.min_exceedances is 0; must be at least 1",
          "compressor.threshold.threshold is -1; must be finite and at least 0",
          "compressor.redsync.step is 1; must be in (0, 1)",
          "compressor.gaussiank.evaluations is 0; must be at least 1",
          "compressor.dgc.sample_ratio is 0; must be in (0, 1]",
          "compressor.dgc.overshoot_cap is 0.5; must be at least 1"));
}

TEST(CompressorConfigCheckTest, NotANumberIsAProblem) {
  EXPECT_THAT(Problems("ratio: nan"), testing::SizeIs(1));
  EXPECT_THAT(Problems("sidco { overshoot_cap: nan tolerance_low: nan }"),
              testing::SizeIs(2));
  EXPECT_THAT(Problems("threshold { threshold: nan } redsync { step: nan } "
                       "dgc { sample_ratio: nan overshoot_cap: nan }"),
              testing::SizeIs(4));
  EXPECT_THAT(Problems("threshold { threshold: inf }"), testing::SizeIs(1));
}

}  // namespace
}  // namespace ps
