// From recorded files to the table and the JSON.
#include "tools/bench/network/comparison.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/bench/network/comparison_report.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A run of 2 workers and 1 server, 10 iterations of `seconds`, whose loss falls
// from 10 by 1 each time; 1000 bytes down for each iteration.
ComparedRun Recorded(const std::string& setting, double seconds, int bytes_up,
                     const std::string& phases) {
  ComparedRun run;
  run.setting = setting;
  run.run_directory = absl::StrCat(testing::TempDir(), "/", setting);
  std::filesystem::create_directories(run.run_directory);
  std::ofstream file(run.run_directory + "/metrics.jsonl");
  file << R"({"event":"start","job":"j","model":"mlp","compressor":"topk",)"
       << R"("value_code":"fp32","target_ratio":0.01,"num_workers":2,)"
       << R"("num_servers":1,"num_parameters":1234,"total_iterations":10})"
       << "\n";
  for (int i = 1; i <= 10; ++i) {
    file << R"({"event":"iteration","iteration":)" << i
         << R"(,"training_loss":)" << 11 - i << R"(,"seconds":)" << seconds * i
         << R"(,"iteration_achieved_ratio":0.0125,"bytes_up":)" << bytes_up * i
         << R"(,"bytes_down":)" << 1000 * i << phases << "}\n";
  }
  file.close();
  const absl::StatusOr<RunRecords> records = ReadRunRecords(run.run_directory);
  EXPECT_TRUE(records.ok()) << records.status();
  if (records.ok()) run.records = *records;
  return run;
}

// "slow" takes 200 ms an iteration, "fast" 50; a third has failed.
NetworkComparison Compared() {
  NetworkComparison comparison;
  comparison.job = "j";
  comparison.bits_per_second = 100'000'000;
  comparison.measured_up = 80'000;
  comparison.measured_down = 40'000;
  comparison.options.warm_up = 2;
  comparison.options.smoothing = 3;
  comparison.options.target_loss = 5;
  comparison.hosts = {{"worker-0", "198.18.0.1", "net:[7]"}};
  comparison.runs = {
      Recorded("slow", 0.2, 4000, ""),
      Recorded("fast", 0.05, 100,
               R"(,"phases":{"wire":0.03,"compress":0.0125,"note":"x"})"),
      ComparedRun()};
  comparison.runs[1].link_bytes = 12345;
  comparison.runs[2].setting = "broken";
  comparison.runs[2].failure = "worker-1 exited with code 1";
  for (ComparedRun& run : comparison.runs) {
    run.measures = MeasureRun(run.records, comparison.options);
  }
  return comparison;
}

std::vector<std::string> Row(const std::string& table,
                             const std::string& setting) {
  for (const absl::string_view line : absl::StrSplit(table, '\n')) {
    std::vector<std::string> cells =
        absl::StrSplit(line, "  ", absl::SkipWhitespace());
    for (std::string& cell : cells) {
      cell = std::string(absl::StripAsciiWhitespace(cell));
    }
    if (cells.size() > 1 && cells[0] == setting) return cells;
  }
  return {};
}

TEST(Comparison, TheLinkNeedsTheLongerOfBothWays) {
  const NetworkComparison comparison = Compared();
  // The one server's link: 4000 bytes at 80 kbit/s, 1000 at 40 kbit/s.
  EXPECT_DOUBLE_EQ(LinkSeconds(comparison, comparison.runs[0]), 0.4);
  EXPECT_DOUBLE_EQ(LinkSeconds(comparison, comparison.runs[1]), 0.2);
  EXPECT_TRUE(std::isnan(LinkSeconds(comparison, comparison.runs[2])));
}

TEST(Comparison, TheTableHasARowForEachSetting) {
  const std::string table = ComparisonTable(Compared());
  EXPECT_THAT(table,
              AllOf(HasSubstr("j: mlp with 1,234 parameters, 2 workers, 1 "
                              "server\n"),
                    HasSubstr("link 100 Mbit/s each way; measured"),
                    HasSubstr("80.0 kbit/s up, 40.0 kbit/s down"),
                    HasSubstr("without the first 2;"),
                    HasSubstr("mean loss of 3 iterations was at most 5."),
                    HasSubstr("broken failed: worker-1 exited with code 1")));
  // The mean of the losses 6, 5 and 4 is 5: after iteration 7.
  EXPECT_THAT(Row(table, "slow"),
              ElementsAre("slow", "10", "200", "0.000", "400", "1.00x",
                          "1.40 s", "1.00x", "4.00 kB", "1.00 kB", "0.0125"));
  EXPECT_THAT(Row(table, "fast"),
              ElementsAre("fast", "10", "50.0", "0.000", "200", "4.00x",
                          "0.350 s", "4.00x", "100 B", "1.00 kB", "0.0125"));
  EXPECT_THAT(Row(table, "broken"),
              ElementsAre("broken", "0", "–", "–", "–", "–", "not reached", "–",
                          "–", "–", "–"));
}

TEST(Comparison, PhasesHaveATableOfTheirOwnIfThereAreAny) {
  NetworkComparison comparison = Compared();
  const std::string both = ComparisonTable(comparison);
  const size_t phases = both.find("by phase");
  ASSERT_NE(phases, std::string::npos);
  const std::string table = both.substr(phases);
  EXPECT_THAT(table, HasSubstr("wire  compress\n"));
  EXPECT_THAT(table, Not(HasSubstr("note")));
  EXPECT_THAT(Row(table, "fast"), ElementsAre("fast", "30.0", "12.5"));
  EXPECT_THAT(Row(table, "slow"), ElementsAre("slow", "–", "–"));
  comparison.runs[1].measures.phases.clear();
  EXPECT_THAT(ComparisonTable(comparison), Not(HasSubstr("by phase")));
}

TEST(Comparison, WithoutATargetNothingIsSaidAboutOne) {
  NetworkComparison comparison = Compared();
  comparison.options.target_loss.reset();
  EXPECT_THAT(ComparisonTable(comparison), Not(HasSubstr("to loss")));
  EXPECT_THAT(ComparisonJson({comparison}), Not(HasSubstr("target_loss")));
}

TEST(Comparison, ATargetThatIsNotReachedIsSaid) {
  NetworkComparison comparison = Compared();
  comparison.options.target_loss = 1;
  for (ComparedRun& run : comparison.runs) {
    run.measures = MeasureRun(run.records, comparison.options);
  }
  EXPECT_THAT(ComparisonTable(comparison),
              HasSubstr("not reached         –  4.00 kB"));
  const auto json = nlohmann::json::parse(ComparisonJson({comparison}));
  EXPECT_TRUE(json["runs"][0]["seconds_to_target_loss"].is_null());
  EXPECT_TRUE(json["runs"][0]["iterations_to_target_loss"].is_null());
}

TEST(Comparison, JsonHasAllFigures) {
  const auto json = nlohmann::json::parse(ComparisonJson({Compared()}));
  EXPECT_EQ(json["job"], "j");
  EXPECT_EQ(json["model"], "mlp");
  EXPECT_EQ(json["num_parameters"], 1234);
  EXPECT_EQ(json["bits_per_second"], 100'000'000);
  EXPECT_EQ(json["measured_bits_per_second_up"], 80'000);
  EXPECT_EQ(json["target_loss"], 5);
  EXPECT_EQ(json["hosts"][0]["network_namespace"], "net:[7]");
  ASSERT_EQ(json["runs"].size(), 3u);
  const auto& fast = json["runs"][1];
  EXPECT_EQ(fast["setting"], "fast");
  EXPECT_EQ(fast["compressor"], "topk");
  EXPECT_EQ(fast["num_workers"], 2);
  EXPECT_EQ(fast["iterations"], 10);
  EXPECT_EQ(fast["measured_iterations"], 8);
  EXPECT_NEAR(fast["seconds_per_iteration"], 0.05, 1e-12);
  EXPECT_NEAR(fast["speed_up"], 4, 1e-9);
  EXPECT_NEAR(fast["phase_seconds_per_iteration"]["wire"], 0.03, 1e-12);
  EXPECT_EQ(fast["phase_seconds_per_iteration"].size(), 2u);
  EXPECT_EQ(fast["bytes_up_per_iteration"], 100);
  EXPECT_EQ(fast["link_bytes"], 12345);
  EXPECT_EQ(fast["iterations_to_target_loss"], 7);
  EXPECT_NEAR(fast["seconds_to_target_loss"], 0.35, 1e-12);
  EXPECT_FALSE(fast.contains("failure"));
  const auto& broken = json["runs"][2];
  EXPECT_EQ(broken["failure"], "worker-1 exited with code 1");
  EXPECT_TRUE(broken["seconds_per_iteration"].is_null());
  EXPECT_TRUE(broken["speed_up"].is_null());
}

TEST(Comparison, SeveralBandwidthsAreAList) {
  NetworkComparison fast = Compared();
  fast.bits_per_second = 1'000'000'000;
  fast.timed_iterations = 8;
  const auto json = nlohmann::json::parse(ComparisonJson({Compared(), fast}));
  ASSERT_EQ(json["bandwidths"].size(), 2u);
  EXPECT_EQ(json["bandwidths"][0]["bits_per_second"], 100'000'000);
  EXPECT_EQ(json["bandwidths"][0]["timed_iterations"], 0);
  EXPECT_EQ(json["bandwidths"][1]["bits_per_second"], 1'000'000'000);
  EXPECT_EQ(json["bandwidths"][1]["timed_iterations"], 8);
  EXPECT_THAT(ComparisonTable(fast),
              AllOf(HasSubstr("ms: mean of 8 iterations at this bandwidth, "
                              "after 2;"),
                    HasSubstr("at most 5: the number of iterations to it "
                              "times ms.")));
  EXPECT_THAT(ComparisonTable(Compared()), Not(HasSubstr("times ms")));
}

TEST(Comparison, EvaluationsAreShownIfThereAreAny) {
  NetworkComparison comparison = Compared();
  EXPECT_THAT(ComparisonTable(comparison), Not(HasSubstr("  test\n")));
  comparison.runs[1].records.metric = "test_accuracy";
  comparison.runs[1].records.evaluations = {{5, 0.5}, {10, 0.75}};
  const std::string table = ComparisonTable(comparison);
  EXPECT_THAT(table, HasSubstr("  test\n"));
  EXPECT_EQ(Row(table, "fast").back(), "accuracy 75.00 %");
  EXPECT_EQ(Row(table, "slow").back(), "–");
  const auto json = nlohmann::json::parse(ComparisonJson({comparison}));
  EXPECT_EQ(json["runs"][1]["test_accuracy"], 0.75);
  EXPECT_FALSE(json["runs"][0].contains("test_accuracy"));
}

TEST(Comparison, WhatFailedFirstIsNothingToCompareWith) {
  NetworkComparison comparison = Compared();
  std::swap(comparison.runs[0], comparison.runs[2]);
  const std::string table = ComparisonTable(comparison);
  EXPECT_THAT(table, HasSubstr("j: mlp with 1,234 parameters"));
  EXPECT_EQ(Row(table, "fast")[5], "–");
}

}  // namespace
}  // namespace ps
