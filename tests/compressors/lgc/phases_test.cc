// When LGC trains, and when it uses codes.
#include "compressors/lgc/phases.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

LgcConfig Config() {
  LgcConfig config;
  config.set_train_iterations(40);
  config.set_retry_every(50);
  config.set_check_every(10);
  return config;
}

// Gives `count` updates of values with this error; returns how many it took
// until codes are planned, or -1.
int Train(LgcPhases* phases, int count, double error, double innovation) {
  for (int i = 0; i < count; ++i) {
    phases->Updated(LgcPush::kValues, ReconstructionError{error, innovation});
    if (phases->sends_code(1)) return i + 1;
  }
  return -1;
}

TEST(LgcPhases, UsesCodesAfterTrainingWithASmallError) {
  LgcPhases phases(Config());
  phases.Updated(LgcPush::kEverything, std::nullopt);
  EXPECT_THAT(phases.news(), ElementsAre(HasSubstr("everything is sent")));
  phases.Updated(LgcPush::kFewValues, std::nullopt);
  EXPECT_THAT(phases.news(), ElementsAre(HasSubstr("fewer than")));
  phases.Updated(LgcPush::kValues, std::nullopt);
  EXPECT_THAT(phases.news(), ElementsAre(HasSubstr("40 iterations")));
  EXPECT_TRUE(phases.trains());
  EXPECT_EQ(Train(&phases, 100, 0.5, 0.9), 40);
  EXPECT_TRUE(phases.is_new());
  EXPECT_EQ(phases.version(), 1u);
  EXPECT_FALSE(phases.trains());
  EXPECT_FALSE(phases.sends_code(0));
  EXPECT_THAT(phases.news(), ElementsAre(HasSubstr("autoencoder 1 are sent")));
  phases.Updated(LgcPush::kValues, std::nullopt);
  EXPECT_TRUE(phases.sends_code(0));
  EXPECT_FALSE(phases.is_new());
  EXPECT_THAT(phases.news(), IsEmpty());
}

// The gate asks for both: a small error, and one that innovations alone do not
// have. Only the last 20 count.
TEST(LgcPhases, StaysInTrainingWithALargeError) {
  const std::pair<double, double> refused[] = {
      {0.61, 0.99}, {0.5, 0.66}, {std::nan(""), 0.9}};
  for (const auto& [error, innovation] : refused) {
    LgcPhases phases(Config());
    EXPECT_EQ(Train(&phases, 69, error, innovation), -1);
    EXPECT_EQ(phases.version(), 0u);
    // The decision after the one at 40 is at 90, and sees the last 20.
    EXPECT_EQ(Train(&phases, 100, 0.59, 0.9), 21) << error;
  }
}

TEST(LgcPhases, SaysWhyItStaysInTraining) {
  LgcPhases phases(Config());
  EXPECT_EQ(Train(&phases, 40, 0.7, 0.8), -1);
  EXPECT_THAT(phases.news(), ElementsAre(testing::AllOf(
                                 HasSubstr("values are still sent"),
                                 HasSubstr("0.7"), HasSubstr("below 0.6"))));
}

TEST(LgcPhases, ChecksInOneOfTheIterations) {
  LgcPhases phases(Config());
  EXPECT_EQ(Train(&phases, 40, 0.5, 0.9), 40);
  std::string plans;
  for (int i = 0; i < 30; ++i) {
    phases.Updated(phases.sends_code(0) ? LgcPush::kCode : LgcPush::kValues,
                   std::nullopt);
    absl::StrAppend(&plans, phases.sends_code(1) ? "c" : "v");
  }
  EXPECT_EQ(plans, "ccccccccvcccccccccvcccccccccvc");
}

TEST(LgcPhases, SeesThatALeaderLacksTheEncoder) {
  LgcPhases phases(Config());
  EXPECT_EQ(Train(&phases, 40, 0.5, 0.9), 40);
  // This leader has not been told to send a code.
  phases.Updated(LgcPush::kValues, std::nullopt);
  EXPECT_FALSE(phases.leader_lacks_encoder());
  phases.Updated(LgcPush::kValues, std::nullopt);
  EXPECT_TRUE(phases.leader_lacks_encoder());
  EXPECT_THAT(phases.news(), ElementsAre(HasSubstr("autoencoder 1 again")));
  phases.Updated(LgcPush::kCode, std::nullopt);
  EXPECT_FALSE(phases.leader_lacks_encoder());
  EXPECT_THAT(phases.news(), IsEmpty());
  EXPECT_EQ(phases.version(), 1u);
}

TEST(LgcPhases, TrainsAgainWhenTheErrorGrows) {
  LgcPhases phases(Config());
  EXPECT_EQ(Train(&phases, 40, 0.5, 0.9), 40);
  phases.Updated(LgcPush::kValues, ReconstructionError{0.79, 0.9});
  EXPECT_TRUE(phases.sends_code(1));
  phases.Updated(LgcPush::kCode, ReconstructionError{0.81, 0.9});
  EXPECT_THAT(phases.news(), ElementsAre(HasSubstr("above check_error")));
  // The next leader has been told to send a code, which must be decoded as
  // before.
  EXPECT_TRUE(phases.sends_code(0));
  EXPECT_FALSE(phases.sends_code(1));
  EXPECT_FALSE(phases.trains());
  EXPECT_EQ(phases.version(), 1u);
  phases.Updated(LgcPush::kCode, std::nullopt);
  EXPECT_TRUE(phases.trains());
  // 50 iterations later the next version.
  EXPECT_EQ(Train(&phases, 100, 0.5, 0.9), 50);
  EXPECT_EQ(phases.version(), 2u);
}

TEST(LgcPhases, GoesOnFromWhatWasSaved) {
  LgcPhases phases(Config());
  EXPECT_EQ(Train(&phases, 35, 0.5, 0.9), -1);
  for (int i = 0; i < 60; ++i) {
    StateWriter writer("test");
    phases.Save(&writer);
    const std::string saved = std::move(writer).Finish();
    StateReader reader = StateReader::Open("test", saved).value();
    LgcPhases again(Config());
    ASSERT_TRUE(again.Load(&reader).ok());
    ASSERT_TRUE(reader.Finish().ok());
    const ReconstructionError error = {i == 30 ? 0.9 : 0.5, 0.9};
    phases.Updated(LgcPush::kValues, error);
    again.Updated(LgcPush::kValues, error);
    EXPECT_EQ(again.news(), phases.news());
    EXPECT_EQ(again.version(), phases.version());
    EXPECT_EQ(again.sends_code(0), phases.sends_code(0));
    EXPECT_EQ(again.sends_code(1), phases.sends_code(1));
  }
}

}  // namespace
}  // namespace ps
