#include "tools/report/run_comparison.h"

#include <limits>

#include "common/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace ps {
namespace {

using testing::ElementsAre;

RunRecords RunOf(const char* job, double seconds, double bytes_up) {
  RunRecords run;
  run.job = job;
  run.total_iterations = 3;
  run.iterations.resize(3);
  run.iterations.back().iteration = 3;
  run.evaluations.push_back({3, 0.975});
  run.seconds = seconds;
  run.samples_per_second = 1e6 / seconds;
  run.bytes_up = bytes_up;
  run.bytes_down = 2e6;
  return run;
}

TEST(ComparisonTable, HasEveryRunAndWhatItIsTimesTheFirst) {
  EXPECT_THAT(
      ComparisonTable({RunOf("a", 100, 4e6), RunOf("b", 25, 1e6)}),
      ElementsAre(ElementsAre("run", "test accuracy", "time", "samples/s",
                              "bytes up", "bytes down", "iterations"),
                  ElementsAre("a", "97.50 %", "1m 40s (1)", "10,000 (1)",
                              "4.00 MB (1)", "2.00 MB (1)", "3"),
                  ElementsAre("b", "97.50 %", "25 s (0.25)", "40,000 (4)",
                              "1.00 MB (0.25)", "2.00 MB (1)", "3")));
}

TEST(ComparisonTable, RunsWithOtherMetricsSayWhichTheyHave) {
  RunRecords words = RunOf("b", 1, 1);
  words.metric = "test_perplexity";
  const TextTable table = ComparisonTable({RunOf("a", 1, 1), words});
  EXPECT_EQ(table[0][1], "result");
  EXPECT_EQ(table[1][1], "test accuracy 97.50 %");
  EXPECT_EQ(table[2][1], "test perplexity 0.9750");
}

TEST(ComparisonTable, WhatIsNotRecordedIsMissing) {
  RunRecords run = RunOf("b", std::numeric_limits<double>::quiet_NaN(), 1e6);
  run.evaluations.clear();
  const TextTable table = ComparisonTable({run, RunOf("a", 10, 0)});
  EXPECT_EQ(table[1][1], "–");
  EXPECT_EQ(table[1][2], "–");
  EXPECT_EQ(table[2][2], "10 s") << "nothing to compare with";
  const auto json = nlohmann::json::parse(JsonText(ComparisonJson({run})));
  EXPECT_TRUE(json[0]["result"].is_null());
  EXPECT_TRUE(json[0]["relative_to_first"]["seconds"].is_null());
  EXPECT_EQ(json[0]["bytes_up"], 1e6);
}

TEST(FormatTextTable, ColumnsThatAreTooWideGoOnBelow) {
  const TextTable table = {{"run", "one", "two", "three"},
                           {"–b", "1", "22", "333"}};
  EXPECT_EQ(FormatTextTable(table),
            "run  one  two  three\n–b     1   22    333\n");
  EXPECT_EQ(FormatTextTable(table, 20), FormatTextTable(table));
  EXPECT_EQ(FormatTextTable(table, 19),
            "run  one  two\n–b     1   22\n\nrun  three\n–b     333\n");
  EXPECT_EQ(FormatTextTable(table, 1),
            "run  one\n–b     1\n\nrun  two\n–b    22\n\n"
            "run  three\n–b     333\n");
}

}  // namespace
}  // namespace ps
