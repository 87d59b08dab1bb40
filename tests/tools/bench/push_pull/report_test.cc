#include "tools/bench/push_pull/report.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TimedPart Part(double gigabytes_per_second) {
  TimedPart part;
  part.payload_bytes = 2'000'000'000;
  part.seconds = 2 / gigabytes_per_second;
  part.server = {/*user=*/3, /*system=*/1};
  part.workers = {/*user=*/0.5, /*system=*/0.25};
  return part;
}

PushPullRound Round(double raw_push, double push, double raw_pull,
                    double pull) {
  PushPullRound round;
  round.raw_push = Part(raw_push);
  round.push = Part(push);
  round.raw_pull = Part(raw_pull);
  round.pull = Part(pull);
  return round;
}

// The second round is of a machine with other work.
std::vector<PushPullRound> ThreeRounds() {
  return {Round(6, 3, 8, 2), Round(2, 1.5, 4, 3), Round(5, 2, 7, 6)};
}

TEST(PushPullReport, SpreadsHaveTheMiddleAndTheEnds) {
  const Spread odd = SpreadOf({5, 1, 3});
  EXPECT_EQ(odd.median, 3);
  EXPECT_EQ(odd.smallest, 1);
  EXPECT_EQ(odd.largest, 5);
  EXPECT_EQ(SpreadOf({4, 1, 2, 8}).median, 3);
  EXPECT_EQ(SpreadOf({7}).median, 7);
}

TEST(PushPullReport, SpeedsAreMediansAndRatiosAreOfTheSameRound) {
  const auto json =
      nlohmann::json::parse(PushPullJson(PushPullOptions(), ThreeRounds()));
  EXPECT_DOUBLE_EQ(json["raw_tcp_gigabytes_per_second"], 5);
  EXPECT_DOUBLE_EQ(json["push_gigabytes_per_second"], 2);
  EXPECT_DOUBLE_EQ(json["raw_tcp_pull_gigabytes_per_second"], 7);
  EXPECT_DOUBLE_EQ(json["pull_gigabytes_per_second"], 3);
  // Medians of 1/2, 3/4 and 2/5, and of 1/4, 3/4 and 6/7.
  EXPECT_DOUBLE_EQ(json["push_over_raw_tcp"], 0.5);
  EXPECT_DOUBLE_EQ(json["pull_over_raw_tcp"], 0.75);
  const auto& spread = json["spreads"]["push_over_raw_tcp"];
  EXPECT_DOUBLE_EQ(spread["smallest"], 0.4);
  EXPECT_DOUBLE_EQ(spread["largest"], 0.75);
  EXPECT_DOUBLE_EQ(json["spreads"]["push_gigabytes_per_second"]["smallest"],
                   1.5);
  EXPECT_DOUBLE_EQ(json["spreads"]["push_gigabytes_per_second"]["largest"], 3);
}

TEST(PushPullReport, PhasesAreSumsAndPerGigabyte) {
  const auto json =
      nlohmann::json::parse(PushPullJson(PushPullOptions(), ThreeRounds()));
  for (const char* name : {"raw_tcp", "push", "raw_tcp_pull", "pull"}) {
    const auto& phase = json["phases"][name];
    EXPECT_DOUBLE_EQ(phase["gigabytes"], 6) << name;
    EXPECT_DOUBLE_EQ(phase["server"]["user_seconds"], 9) << name;
    EXPECT_DOUBLE_EQ(phase["server"]["system_seconds"], 3) << name;
    EXPECT_DOUBLE_EQ(phase["server"]["user_seconds_per_gigabyte"], 1.5) << name;
    EXPECT_DOUBLE_EQ(phase["workers"]["user_seconds"], 1.5) << name;
    EXPECT_DOUBLE_EQ(phase["workers"]["system_seconds_per_gigabyte"], 0.125)
        << name;
  }
  EXPECT_DOUBLE_EQ(json["phases"]["push"]["seconds"],
                   2 / 3.0 + 2 / 1.5 + 2 / 2.0);
}

TEST(PushPullReport, TheTableShowsTheSame) {
  PushPullOptions options;
  options.workers = 2;
  const std::string text = PushPullText(options, ThreeRounds());
  EXPECT_THAT(text, AllOf(HasSubstr("2 workers, 1 server with 2 threads;"),
                          HasSubstr("4 connections a worker"),
                          HasSubstr("3 rounds of 8 iterations")));
  EXPECT_THAT(text, HasSubstr("\npush, parameter server                   "
                              "2.00      1.50     3.00          0.50\n"));
  EXPECT_THAT(text, HasSubstr("\npull, plain TCP, received in place       "
                              "7.00      4.00     8.00\n"));
  EXPECT_THAT(text, HasSubstr("\npull, parameter server                  "
                              "1.500     0.500     0.250     0.125\n"));
}

TEST(PushPullReport, AnswersThatCarryWeightsAreSaid) {
  std::vector<PushPullRound> rounds = ThreeRounds();
  EXPECT_THAT(PushPullText(PushPullOptions(), rounds),
              Not(HasSubstr("answers a push")));
  for (PushPullRound& round : rounds) {
    round.push.answer_bytes = round.push.payload_bytes / 2;
  }
  EXPECT_THAT(PushPullText(PushPullOptions(), rounds),
              HasSubstr("answers a push with new weights: 0.50 bytes"));
  const auto json =
      nlohmann::json::parse(PushPullJson(PushPullOptions(), rounds));
  EXPECT_DOUBLE_EQ(json["push_answer_bytes_per_byte"], 0.5);
}

TEST(PushPullReport, ARoundIsOneLine) {
  EXPECT_EQ(PushPullRoundText(Round(6, 3, 8, 2)),
            "push 3.00 GB/s, plain TCP 6.00; pull 2.00 GB/s, plain TCP 8.00\n");
}

TEST(PushPullReport, SettingsAreInTheJson) {
  PushPullOptions options;
  options.megabytes = 7;
  options.overrides = {"cluster.startup_timeout_seconds=7"};
  const auto settings =
      nlohmann::json::parse(PushPullJson(options, ThreeRounds()))["settings"];
  EXPECT_EQ(settings["megabytes"], 7);
  EXPECT_EQ(settings["bucket_megabytes"], 64);
  EXPECT_EQ(settings["slice_elements"], 1 << 20);
  EXPECT_EQ(settings["overrides"][0], "cluster.startup_timeout_seconds=7");
}

}  // namespace
}  // namespace ps
