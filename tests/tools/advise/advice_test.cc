#include "tools/advise/advice.h"

#include <nlohmann/json.hpp>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

SettingPrediction Setting(const std::string& name, double compute,
                          double seconds) {
  SettingPrediction setting;
  setting.setting = name;
  setting.config.mutable_compressor()->set_name(name);
  setting.compute = compute;
  setting.iteration = seconds;
  return setting;
}

Advice TwoSettings(double none, double topk) {
  Advice advice;
  advice.job = "job";
  advice.num_parameters = 1234;
  advice.num_workers = advice.workers_here = 2;
  advice.num_servers = 1;
  advice.network.bits_per_second = 100e6;
  advice.settings = {Setting("none", 0.1, none), Setting("topk", 0.1, topk)};
  advice.settings[0].up = 0.4;
  return advice;
}

TEST(Advice, SaysThatCompressionWillNotHelp) {
  const Advice advice = TwoSettings(1, 0.96);
  EXPECT_THAT(AdviceText(advice),
              AllOf(HasSubstr("Compression will not help here: over links of "
                              "100 Mbit/s"),
                    HasSubstr("5 % faster than \"none\" in every turn, whose "
                              "bottleneck is up"),
                    Not(HasSubstr("Put into"))));
}

TEST(Advice, OfAScriptNamesWhatAnAllReduceWouldTake) {
  Advice advice = TwoSettings(1, 0.25);
  EXPECT_THAT(AdviceReport(advice), Not(HasSubstr("all-reduce")));
  advice.is_external = true;
  advice.num_workers = 4;
  advice.num_parameters = 1'000'000;
  // 6 MB over 12.5 MB/s, of which 1448 of 1514 bytes are payload.
  const double seconds = 0.48 * 1514 / 1448;
  EXPECT_NEAR(AllReduceSeconds(advice), seconds, 1e-9);
  EXPECT_THAT(AdviceReport(advice), HasSubstr("at least 502 ms"));
  EXPECT_NEAR(nlohmann::json::parse(AdviceJson(advice))["all_reduce_seconds"],
              seconds, 1e-9);
  advice.network.bits_per_second.reset();
  EXPECT_THAT(AdviceReport(advice), Not(HasSubstr("all-reduce")));
}

TEST(Advice, NamesTheLinesThatTheJobNeeds) {
  Advice advice = TwoSettings(1, 0.25);
  advice.settings[1].config.mutable_compressor()->set_ratio(0.01);
  EXPECT_THAT(AdviceText(advice),
              AllOf(HasSubstr("Use \"topk\": over links of 100 Mbit/s, it is "
                              "predicted to be 4.00 times as fast as \"none\""),
                    HasSubstr("    compressor { name: \"topk\" ratio: 0.01 }\n"
                              "    downlink { mode: AUTO }\n"),
                    HasSubstr("move `optimizer` to `worker_optimizer`")));
  advice.settings[1].config.mutable_worker_optimizer()->set_name("sgd");
  EXPECT_THAT(AdviceText(advice), Not(HasSubstr("move")));
}

TEST(Advice, SaysThatTheJobIsAsItShouldBe) {
  Advice advice = TwoSettings(1, 0.25);
  advice.settings[1].setting += " (the job)";
  EXPECT_THAT(AdviceText(advice), AllOf(HasSubstr("Use \"topk\": "),
                                        HasSubstr("The job has it already"),
                                        Not(HasSubstr("Put into"))));
}

TEST(Advice, ReportHasARowForEachSettingAndSaysWhereItWasMeasured) {
  Advice advice = TwoSettings(1, 0.25);
  advice.workers_here = 1;
  EXPECT_THAT(
      AdviceReport(advice),
      AllOf(HasSubstr("job: 1,234 parameters, 2 workers, 1 server, over links "
                      "of 100 Mbit/s\n"),
            HasSubstr("measured with 1 worker sharing this machine"),
            HasSubstr("\nnone  1000      100  0.000    400  0.000   0.000     "
                      "     up     1.00x"),
            HasSubstr("\ntopk   250"), HasSubstr("compute     4.00x")));
  advice.network.bits_per_second.reset();
  EXPECT_THAT(AdviceReport(advice), HasSubstr("loopback interface"));
}

TEST(Advice, ReportHasTheSpreadAndWarnsOfABusyMachine) {
  Advice advice = TwoSettings(1, 0.25);
  for (SettingPrediction& setting : advice.settings) {
    setting.iterations = {setting.iteration, 0.2, 2};
    setting.compute_spread = 1.2;
  }
  EXPECT_THAT(
      AdviceReport(advice),
      AllOf(HasSubstr("\ntopk   250 (200 to 2000)"), Not(HasSubstr("busy"))));
  advice.settings[1].compute_spread = 2.5;
  EXPECT_THAT(AdviceReport(advice),
              HasSubstr("This machine is busy: computation took 2.5 times as "
                        "long in one turn as in another.\n"));
}

TEST(Advice, JsonHasAllFigures) {
  Advice advice = TwoSettings(1, 0.25);
  auto json = nlohmann::json::parse(AdviceJson(advice));
  EXPECT_EQ(json["bits_per_second"], 100e6);
  EXPECT_EQ(json["recommended"], "topk");
  EXPECT_EQ(json["compression_helps"], true);
  ASSERT_EQ(json["settings"].size(), 2u);
  EXPECT_EQ(json["settings"][0]["up_seconds"], 0.4);
  EXPECT_EQ(json["settings"][0]["bottleneck"], "up");
  EXPECT_EQ(json["settings"][1]["speed_up"], 4);
  advice.network.bits_per_second.reset();
  json = nlohmann::json::parse(AdviceJson(advice));
  EXPECT_TRUE(json["bits_per_second"].is_null());
}

}  // namespace
}  // namespace ps
