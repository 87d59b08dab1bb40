// The behaviour of SIDCo where a fit makes no sense.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "compressors/sidco/sidco_options.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

constexpr int64_t kSize = 100000;

struct Result {
  CompressionStats stats;
  std::vector<int64_t> positions;
  bool state_changed = false;
};

Result RunCompressor(const std::string& config,
                     const std::vector<float>& gradient) {
  HarnessOptions options;
  options.config = CompressorConfigFrom(config);
  options.dense_size = static_cast<int64_t>(gradient.size());
  Harness harness(options);
  const std::string state = harness.compressor().SaveState();
  const EncodedGradient encoded = harness.Compress(gradient);
  Result result;
  result.stats = encoded.stats;
  result.positions = harness.Positions(encoded);
  result.state_changed = harness.compressor().SaveState() != state;
  return result;
}

Result RunSidco(const std::string& config, const std::vector<float>& gradient) {
  return RunCompressor("name: 'sidco_e' " + config, gradient);
}

TEST(SidcoEdgeCasesTest, EmptyVectorSendsNothing) {
  const Result result = RunSidco("", {});
  EXPECT_EQ(result.stats.target_count, 0);
  EXPECT_EQ(result.stats.count, 0);
}

TEST(SidcoEdgeCasesTest, AllZeroSendsNothingAndTeachesNothing) {
  for (const char* zeros : {"ALL", "EXCLUDE"}) {
    const Result result = RunSidco(absl::StrCat("sidco { zeros: ", zeros, " }"),
                                   std::vector<float>(kSize, -0.0f));
    EXPECT_EQ(result.stats.count, 0);
    EXPECT_EQ(result.stats.threshold, 0);
    EXPECT_EQ(result.stats.fallback, "zero");
    EXPECT_FALSE(result.state_changed);
  }
}

TEST(SidcoEdgeCasesTest, ConstantMagnitudeSendsTheFirstKAndTeachesNothing) {
  const Result result =
      RunSidco("ratio: 0.001", MakeVector("constant", kSize, 1));
  EXPECT_EQ(result.stats.fallback, "constant");
  EXPECT_EQ(result.stats.raw_count, 0);
  ASSERT_EQ(result.positions.size(), 100u);
  EXPECT_EQ(result.positions.back(), 99) << "ties go to the lower index";
  EXPECT_FALSE(result.state_changed);
}

// All elements are equal except for one unit in the last place of one: a fit of
// the variance, or of the mean logarithm, would only reflect rounding errors.
TEST(SidcoEdgeCasesTest,
     AllButConstantMagnitudeIsConstantToFamiliesWithAShape) {
  std::vector<float> gradient = MakeVector("constant", kSize, 1);
  gradient[500] = std::nextafter(gradient[500], 1.0f);
  for (const char* name : {"sidco_p", "sidco_gp"}) {
    for (const char* profile : {"ROBUST", "PAPER"}) {
      const Result result =
          RunCompressor(absl::StrCat("ratio: 0.001 name: '", name,
                                     "' sidco { profile: ", profile, " }"),
                        gradient);
      EXPECT_EQ(result.stats.fallback, "constant");
      EXPECT_EQ(result.stats.raw_count, 0);
      ASSERT_EQ(result.positions.size(), 100u);
      EXPECT_EQ(result.positions.back(), 500) << "the largest is among them";
      EXPECT_FALSE(result.state_changed);
    }
  }
}

TEST(SidcoEdgeCasesTest, AllButEqualExceedancesEndTheStagesOfSidcoP) {
  std::vector<float> gradient(kSize, 1e-3f);
  for (int i = 0; i < 1000; ++i) gradient[99 * i] = i % 2 == 0 ? 2 : -2;
  gradient[0] = std::nextafter(2.0f, 3.0f);
  const Result result = RunCompressor(
      "name: 'sidco_p' ratio: 0.001 sidco { stages: 3 }", gradient);
  EXPECT_EQ(result.stats.fallback, "few");
  EXPECT_EQ(result.stats.count, 100);
}

TEST(SidcoEdgeCasesTest, NothingAboveTheEstimateSendsExactlyK) {
  // Uniform magnitudes: one stage of an exponential fit overshoots the largest.
  std::vector<float> gradient(kSize);
  for (int64_t i = 0; i < kSize; ++i) gradient[i] = 1 + 61 * i % kSize;
  const Result result =
      RunSidco("ratio: 0.001 sidco { stages: 1 refine_steps: 0 }", gradient);
  EXPECT_EQ(result.stats.fallback, "empty");
  EXPECT_EQ(result.stats.raw_count, 0);
  EXPECT_EQ(result.stats.count, 100);
  EXPECT_EQ(result.stats.threshold, kSize - 99);
}

// Magnitudes so close to each other that even the first of three stages
// overshoots them all.
TEST(SidcoEdgeCasesTest, NothingAboveAnEarlierStageSendsExactlyK) {
  std::vector<float> gradient(kSize);
  for (int64_t i = 0; i < kSize; ++i) {
    gradient[i] = 1 + 1e-6f * static_cast<float>(61 * i % kSize);
  }
  for (const char* correction : {"true", "false"}) {
    const Result result =
        RunSidco(absl::StrCat("ratio: 0.001 sidco { stages: 3 refine_steps: 0 "
                              "count_correction: ",
                              correction, " }"),
                 gradient);
    EXPECT_EQ(result.stats.fallback, "empty");
    EXPECT_EQ(result.stats.raw_count, 0);
    EXPECT_EQ(result.stats.count, 100);
    EXPECT_TRUE(result.state_changed) << "the controller sees a quality of 0";
  }
}

TEST(SidcoEdgeCasesTest, FewExceedancesEndTheStages) {
  // 20 of 100 000 exceed the first threshold, fewer than min_exceedances and
  // more than the target of 10.
  std::vector<float> gradient(kSize);
  for (int64_t i = 0; i < kSize; ++i) {
    gradient[i] = 1 + 1e-3f * static_cast<float>(i % 7);
  }
  for (int i = 0; i < 20; ++i) gradient[4999 * i] = 5 + i;
  const Result result = RunSidco(
      "ratio: 0.0001 sidco { stages: 3 min_exceedances: 32 }", gradient);
  EXPECT_EQ(result.stats.fallback, "few");
  EXPECT_EQ(result.stats.stages, 1);
  EXPECT_EQ(result.stats.raw_count, 20);
  EXPECT_EQ(result.stats.count, 10);
  EXPECT_EQ(result.stats.threshold, 15);
  EXPECT_TRUE(result.state_changed) << "the estimate was made and is judged";

  const Result enough = RunSidco(
      "ratio: 0.0001 sidco { stages: 3 min_exceedances: 20 }", gradient);
  EXPECT_GT(enough.stats.stages, 1);
}

TEST(SidcoEdgeCasesTest, EqualExceedancesEndTheStages) {
  std::vector<float> gradient(kSize, 1e-3f);
  for (int i = 0; i < 1000; ++i) gradient[99 * i] = i % 2 == 0 ? 2 : -2;
  const Result result = RunSidco("ratio: 0.001 sidco { stages: 3 }", gradient);
  EXPECT_EQ(result.stats.fallback, "few");
  EXPECT_EQ(result.stats.stages, 1);
  EXPECT_EQ(result.stats.raw_count, 1000);
  EXPECT_EQ(result.stats.count, 100);
  EXPECT_EQ(result.positions.back(), 99 * 99);
}

TEST(SidcoEdgeCasesTest, NearlyEqualExceedancesDoNotEndTheStages) {
  std::vector<float> gradient(kSize, 1e-3f);
  for (int i = 0; i < 1000; ++i) gradient[99 * i] = 2;
  gradient[0] = std::nextafter(2.0f, 0.0f);
  const Result result = RunSidco("ratio: 0.001 sidco { stages: 3 }", gradient);
  EXPECT_NE(result.stats.fallback, "few");
}

TEST(SidcoEdgeCasesTest, ShortVectorsAreExactAndTeachNothing) {
  for (const int64_t n : {1, 10, 1023}) {
    const Result result = RunSidco("ratio: 0.1", MakeVector("laplace", n, 1));
    EXPECT_EQ(result.stats.fallback, "small");
    EXPECT_EQ(result.stats.count, std::max<int64_t>(1, n / 10));
    EXPECT_FALSE(result.state_changed);
  }
  EXPECT_EQ(
      RunSidco("ratio: 0.1", MakeVector("laplace", 1024, 1)).stats.fallback,
      "");
}

TEST(SidcoEdgeCasesTest, ShortVectorsNeverSendZeros) {
  std::vector<float> gradient(1000, 0.0f);
  gradient[17] = 1;
  gradient[400] = -2;
  const Result result = RunSidco("ratio: 0.1", gradient);
  EXPECT_EQ(result.positions, (std::vector<int64_t>{17, 400}));
}

TEST(SidcoEdgeCasesTest, SpikeIsSent) {
  for (const char* zeros : {"ALL", "EXCLUDE"}) {
    for (const double ratio : {0.001, 1e-6}) {
      std::vector<float> gradient(kSize, 0.0f);
      gradient[777] = -1e-20f;
      const Result result = RunSidco(
          absl::StrCat("ratio: ", ratio, " sidco { zeros: ", zeros, " }"),
          gradient);
      EXPECT_EQ(result.positions, std::vector<int64_t>{777});
    }
  }
}

// One element far larger than all others moves the estimate away from them,
// farther than the refinement can correct.
TEST(SidcoEdgeCasesTest, SpikeAmongOthersDoesNotHideThem) {
  for (const char* law : {"gaussian", "laplace"}) {
    for (const float scale : {1e-3f, 1e-7f, 1e-9f}) {
      std::vector<float> gradient = MakeVector(law, 65553, 1);
      for (float& each : gradient) each *= scale;
      gradient[777] = 1e3f;
      for (const char* name : {"sidco_e", "sidco_gp", "sidco_p"}) {
        SCOPED_TRACE(testing::Message() << name << " " << law << " " << scale);
        const Result result = RunCompressor(
            absl::StrCat("ratio: 0.001 name: '", name, "'"), gradient);
        EXPECT_GE(result.stats.count, 65 / 8);
        EXPECT_LE(result.stats.count, 4 * 65);
      }
      if (scale > 1e-7f) continue;
      const Result astray =
          RunCompressor("ratio: 0.001 name: 'sidco_e'", gradient);
      EXPECT_EQ(astray.stats.fallback, "spike");
      EXPECT_EQ(astray.stats.count, 65);
    }
  }
}

// However far away it is, and however few elements are wanted: 8 here.
TEST(SidcoEdgeCasesTest, AnOutlierDoesNotHideAFewWantedOnes) {
  for (const float outlier : {1e3f, 1e6f, 1e10f, 1e30f}) {
    for (const char* name : {"sidco_e", "sidco_gp", "sidco_p"}) {
      SCOPED_TRACE(testing::Message() << name << " " << outlier);
      std::vector<float> gradient = MakeVector("laplace", 80000, 1);
      gradient[777] = outlier;
      const Result result = RunCompressor(
          absl::StrCat("ratio: 0.0001 name: '", name, "'"), gradient);
      EXPECT_GE(result.stats.count, 8 / 4);
      EXPECT_LE(result.stats.count, 4 * 8);
    }
  }
}

TEST(SidcoEdgeCasesTest, NoMoreNonZerosThanTheTargetAreAllSent) {
  std::vector<float> gradient(kSize, 0.0f);
  for (int i = 0; i < 900; ++i) gradient[100 * i + 3] = 1 + i;
  const Result result = RunSidco("ratio: 0.01", gradient);
  EXPECT_EQ(result.stats.fallback, "sparse");
  EXPECT_EQ(result.positions.size(), 900u);
  EXPECT_FALSE(result.state_changed);
}

TEST(SidcoEdgeCasesTest, ExcludedZerosDoNotSpoilTheFit) {
  // The quality for several shares of zeros among Laplace values, with one
  // stage; the second check follows the reference table. 60 000 x 0.001 are
  // expected, with a tolerance of 5 deviations.
  for (const double zeros : {0.1, 0.6, 0.9}) {
    std::vector<float> gradient = DrawLaw("laplace", 1 << 20, 5);
    for (size_t i = 0; i < gradient.size(); ++i) {
      if (i * 7919 % 1000 < 1000 * zeros) gradient[i] = 0;
    }
    const auto quality = [&gradient](const char* policy) {
      const Result result =
          RunSidco(absl::StrCat("ratio: 0.001 sidco { profile: PAPER stages: 1 "
                                "zeros: ",
                                policy, " }"),
                   gradient);
      return static_cast<double>(result.stats.raw_count) / (0.001 * (1 << 20));
    };
    EXPECT_NEAR(quality("EXCLUDE"), 1, 0.16) << zeros;
    EXPECT_GT(quality("ALL"), 1.5) << zeros;
  }
}

// The same for the families with a shape: the columns "all" of the reference
// table, where each zero has the logarithm that SIDCo's code gives it.
struct CountedZeros {
  const char* config;
  double ratio;
  // For shares of zeros of 0.1, 0.3, 0.6, 0.9.
  double all[4];
  double tolerance;
};

TEST(SidcoEdgeCasesTest, CountedZerosSpoilTheFitAsInTheReference) {
  constexpr double kShares[] = {0.1, 0.3, 0.6, 0.9};
  constexpr CountedZeros kRows[] = {
      {"name: 'sidco_gp' ratio: 0.01 sidco { stages: 2 ",
       0.01,
       {1.52, 2.26, 1.56, 0.40},
       0.06},
      {"name: 'sidco_p' ratio: 0.001 sidco { stages: 1 ",
       0.001,
       {0.35, 0.09, 0.11, 6.06},
       0.4},
  };
  for (const CountedZeros& row : kRows) {
    for (int z = 0; z < 4; ++z) {
      SCOPED_TRACE(testing::Message() << row.config << kShares[z]);
      std::vector<float> gradient = DrawLaw("laplace", 1 << 20, 5);
      for (size_t i = 0; i < gradient.size(); ++i) {
        if (i * 7919 % 1000 < 1000 * kShares[z]) gradient[i] = 0;
      }
      const auto quality = [&](const char* policy) {
        const Result result = RunCompressor(
            absl::StrCat(row.config, "profile: PAPER zeros: ", policy, " }"),
            gradient);
        return static_cast<double>(result.stats.raw_count) /
               (row.ratio * (1 << 20));
      };
      EXPECT_NEAR(quality("EXCLUDE"), 1, row.ratio == 0.01 ? 0.06 : 0.2);
      EXPECT_NEAR(quality("ALL"), row.all[z],
                  std::min(row.tolerance, 0.2 * row.all[z] + 0.02));
    }
  }
}

TEST(SidcoEdgeCasesTest, PoliciesAgreeWithoutZeros) {
  const std::vector<float> gradient = MakeVector("laplace", kSize, 9);
  for (const char* name : {"sidco_e", "sidco_gp", "sidco_p"}) {
    const std::string config = absl::StrCat("name: '", name, "' ratio: 0.01 ");
    EXPECT_EQ(
        RunCompressor(config + "sidco { zeros: ALL }", gradient).positions,
        RunCompressor(config + "sidco { zeros: EXCLUDE }", gradient).positions);
  }
}

TEST(SidcoEdgeCasesTest, OvershootIsTrimmedToExactlyK) {
  // Heavy tails: one stage selects six times too many.
  const std::vector<float> gradient = DrawLaw("GP 0.2", 1 << 20, 3);
  const std::string one =
      "ratio: 0.001 sidco { stages: 1 refine_steps: 0 overshoot_cap: ";
  const Result off = RunSidco(one + "0 }", gradient);
  EXPECT_EQ(off.stats.fallback, "");
  EXPECT_GT(off.stats.count, 4 * off.stats.target_count);
  const Result capped = RunSidco(one + "4 }", gradient);
  EXPECT_EQ(capped.stats.fallback, "cap");
  EXPECT_EQ(capped.stats.count, 1048);
  EXPECT_EQ(capped.stats.raw_count, off.stats.raw_count)
      << "the controller sees what the estimate selected";
  const Result loose = RunSidco(one + "8 }", gradient);
  EXPECT_EQ(loose.stats.fallback, "");
}

TEST(SidcoEdgeCasesTest, HighRatioUsesOneStage) {
  const std::vector<float> gradient = MakeVector("laplace", kSize, 2);
  for (const double ratio : {0.25, 0.3, 0.7}) {
    const Result result = RunSidco(
        absl::StrCat("ratio: ", ratio, " sidco { stages: 3 }"), gradient);
    EXPECT_EQ(result.stats.stages, 1);
    EXPECT_NEAR(static_cast<double>(result.stats.count), ratio * kSize,
                0.02 * kSize);
    EXPECT_FALSE(result.state_changed) << "nothing to learn about stages";
  }
}

TEST(SidcoEdgeCasesTest, SelectsExactlyWhatExceedsTheThreshold) {
  for (const char* compressor : {"sidco_e", "sidco_gp", "sidco_p"}) {
    for (const char* name : {"gaussian", "laplace", "heavy", "sparse"}) {
      SCOPED_TRACE(testing::Message() << compressor << " of " << name);
      const std::vector<float> gradient = MakeVector(name, kSize, 4);
      const Result result = RunCompressor(
          absl::StrCat("name: '", compressor, "' ratio: 0.01"), gradient);
      ASSERT_EQ(result.stats.fallback, "");
      std::vector<int64_t> expected;
      for (int64_t i = 0; i < kSize; ++i) {
        if (std::abs(gradient[i]) > result.stats.threshold) {
          expected.push_back(i);
        }
      }
      EXPECT_EQ(result.positions, expected);
    }
  }
}

TEST(SidcoEdgeCasesTest, RefinementBringsPoorEstimatesNearTheTarget) {
  for (const char* law : {"laplace", "gamma 0.5", "GP 0.2", "gaussian"}) {
    const std::vector<float> gradient = DrawLaw(law, kSize, 6);
    for (const char* name : {"sidco_e", "sidco_gp", "sidco_p"}) {
      for (const double ratio : {0.1, 0.01, 0.001}) {
        for (const int stages : {1, 2, 3}) {
          const Result result =
              RunCompressor(absl::StrCat("name: '", name, "' ratio: ", ratio,
                                         " sidco { stages: ", stages, " }"),
                            gradient);
          EXPECT_EQ(result.stats.fallback, "");
          EXPECT_EQ(result.stats.count, result.stats.raw_count);
          EXPECT_NEAR(static_cast<double>(result.stats.count), ratio * kSize,
                      0.05 * ratio * kSize)
              << law << ", " << name << ", " << ratio << ", " << stages;
        }
      }
    }
  }
}

TEST(SidcoEdgeCasesTest, RefinementIsInRobustButNotInPaper) {
  const std::vector<float> gradient = DrawLaw("GP 0.2", kSize, 3);
  const auto count = [&gradient](const char* sidco) {
    return RunSidco(absl::StrCat("ratio: 0.001 sidco { stages: 1 "
                                 "overshoot_cap: 0 zeros: EXCLUDE ",
                                 sidco, " }"),
                    gradient)
        .stats.count;
  };
  const int64_t unrefined = count("refine_steps: 0");
  EXPECT_GT(unrefined, 400);
  EXPECT_EQ(count("profile: PAPER"), unrefined);
  EXPECT_NEAR(static_cast<double>(count("")), 100, 5);
}

// A refined estimate would look good whatever the number of stages.
TEST(SidcoEdgeCasesTest, StagesAreJudgedByTheEstimateBeforeRefinement) {
  const auto stages_after = [](const char* sidco) {
    HarnessOptions options;
    options.config = CompressorConfigFrom(absl::StrCat(
        "name: 'sidco_e' ratio: 0.001 sidco { start_stages: 1 ", sidco, " }"));
    options.dense_size = kSize;
    Harness harness(options);
    int stages = 0;
    for (int i = 0; i < 6; ++i) {
      stages = harness.Compress(DrawLaw("gaussian", kSize, i)).stats.stages;
    }
    return stages;
  };
  EXPECT_GT(stages_after("refine_steps: 0"), 1);
  EXPECT_GT(stages_after(""), 1);
}

TEST(SidcoOptionsTest, ProfilesSetWhatTheConfigLeavesOpen) {
  const SidcoOptions robust =
      ResolveSidcoOptions(CompressorConfigFrom("ratio: 0.01"));
  EXPECT_TRUE(robust.adaptive);
  EXPECT_TRUE(robust.exclude_zeros);
  EXPECT_TRUE(robust.count_correction);
  EXPECT_EQ(robust.overshoot_cap, 4);
  EXPECT_TRUE(robust.exact_gamma_inverse);
  EXPECT_EQ(robust.refine_steps, 8);
  EXPECT_EQ(robust.controller.start_stages, 2);
  EXPECT_EQ(robust.controller.rule, StageControllerOptions::Rule::kProbe);
  EXPECT_EQ(robust.controller.max_stages, 7);
  const SidcoOptions paper = ResolveSidcoOptions(
      CompressorConfigFrom("ratio: 0.01 sidco { profile: PAPER }"));
  EXPECT_TRUE(paper.adaptive);
  EXPECT_FALSE(paper.exclude_zeros);
  EXPECT_FALSE(paper.count_correction);
  EXPECT_EQ(paper.overshoot_cap, 0);
  EXPECT_FALSE(paper.exact_gamma_inverse);
  EXPECT_EQ(paper.refine_steps, 0);
  EXPECT_EQ(paper.controller.start_stages, 1);
  EXPECT_EQ(paper.controller.rule, StageControllerOptions::Rule::kFixed);
}

TEST(SidcoOptionsTest, FieldsOverrideTheProfile) {
  const SidcoOptions options = ResolveSidcoOptions(CompressorConfigFrom(
      "ratio: 0.01 sidco { profile: PAPER zeros: EXCLUDE rule: REVERSE "
      "gamma_inverse: EXACT count_correction: true overshoot_cap: 2 "
      "start_stages: 99 stages: 5 refine_steps: 3 refine_tolerance: 0.1 }"));
  EXPECT_FALSE(options.adaptive);
  EXPECT_EQ(options.stages, 5);
  EXPECT_TRUE(options.exclude_zeros);
  EXPECT_TRUE(options.count_correction);
  EXPECT_EQ(options.overshoot_cap, 2);
  EXPECT_TRUE(options.exact_gamma_inverse);
  EXPECT_EQ(options.controller.rule, StageControllerOptions::Rule::kReverse);
  EXPECT_EQ(options.controller.start_stages, 7) << "not above the maximum";
  EXPECT_EQ(options.refine_steps, 3);
  EXPECT_EQ(options.refine_tolerance, 0.1);
}

}  // namespace
}  // namespace ps
