#include "tools/report/run_records.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using testing::HasSubstr;

constexpr char kStart[] =
    R"({"event":"start","job":"j","model":"lenet5","compressor":"topk",)"
    R"("value_code":"fp16","target_ratio":0.01,"num_workers":2,)"
    R"("num_servers":3,"num_parameters":61706,"total_iterations":9})"
    "\n";

std::string IterationLine(int iteration, double count) {
  return absl::StrCat(R"({"event":"iteration","iteration":)", iteration,
                      R"(,"training_loss":2.5,"count":)", count,
                      R"(,"target_count":100,"stages":3,"residual_norm":null,)"
                      R"("bytes_up":863,"bytes_down":64,"dense_bytes_up":1000,)"
                      R"("dense_bytes_down":2000,"seconds":1.5})",
                      "\n");
}

class RunRecordsTest : public testing::Test {
 protected:
  absl::StatusOr<RunRecords> Read(const std::string& metrics) {
    const std::string directory = testing::TempDir() + "/run_records";
    std::filesystem::create_directories(directory);
    EXPECT_TRUE(
        WriteFileAtomically(directory + "/metrics.jsonl", metrics).ok());
    return ReadRunRecords(directory);
  }
};

TEST_F(RunRecordsTest, HasWhatTheFileSays) {
  const auto run = Read(absl::StrCat(
      kStart, IterationLine(1, 90), IterationLine(2, 110),
      R"({"event":"evaluation","iteration":2,"metric":"test_perplexity",)"
      R"("test_perplexity":84.5,"test_loss":4.4})",
      "\n"));
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->job, "j");
  EXPECT_EQ(run->value_code, "fp16");
  EXPECT_EQ(run->target_ratio, 0.01);
  EXPECT_EQ(run->num_parameters, 61706);
  ASSERT_EQ(run->iterations.size(), 2u);
  EXPECT_EQ(run->iterations[1].iteration, 2);
  EXPECT_EQ(run->iterations[1].count, 110);
  EXPECT_EQ(run->iterations[1].training_loss, 2.5);
  ASSERT_TRUE(run->iterations[1].residual_norm.has_value());
  EXPECT_TRUE(std::isnan(*run->iterations[1].residual_norm)) << "null";
  EXPECT_EQ(run->dense_bytes_down, 2000);
  ASSERT_EQ(run->evaluations.size(), 1u);
  EXPECT_EQ(run->metric, "test_perplexity");
  EXPECT_EQ(run->evaluations[0].value, 84.5);
  // What had been used until then.
  const IterationRow& last = run->iterations.back();
  EXPECT_EQ(run->evaluations[0].seconds, last.seconds);
  EXPECT_EQ(run->evaluations[0].bytes, last.bytes_up + last.bytes_down);
}

TEST_F(RunRecordsTest, TimesCanBeThoseOfOtherIterations) {
  auto run = Read(absl::StrCat(kStart, IterationLine(1, 90),
                               R"({"event":"evaluation","iteration":1,)"
                               R"("test_perplexity":84.5})",
                               "\n"));
  ASSERT_TRUE(run.ok()) << run.status();
  SetIterationSeconds(7, &*run);
  EXPECT_EQ(run->iterations[0].seconds, 7);
  EXPECT_EQ(run->evaluations[0].seconds, 7);
  EXPECT_EQ(run->seconds, 7);
}

TEST_F(RunRecordsTest, AnIterationHasItsPhasesAndItsRatio) {
  const auto run = Read(absl::StrCat(
      kStart, IterationLine(1, 90),
      R"({"event":"iteration","iteration":2,"iteration_achieved_ratio":0.25,)"
      R"("phases":{"wire":0.5,"apply":1,"note":"x","wait":null},)"
      R"("seconds":4,"bytes_up":9,"bytes_down":7})",
      "\n"));
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_EQ(run->iterations.size(), 2u);
  const IterationRow& without = run->iterations[0];
  EXPECT_TRUE(without.phases.empty());
  EXPECT_TRUE(std::isnan(without.achieved_ratio));
  EXPECT_EQ(without.seconds, 1.5);
  EXPECT_EQ(without.bytes_down, 64);
  const IterationRow& row = run->iterations[1];
  EXPECT_EQ(row.achieved_ratio, 0.25);
  EXPECT_EQ(row.seconds, 4);
  EXPECT_EQ(run->seconds, 4);
  EXPECT_EQ(row.bytes_down, 7);
  EXPECT_EQ(run->bytes_down, 7);
  // Only numbers, in the file's order.
  using Phase = std::pair<std::string, double>;
  EXPECT_EQ(row.phases,
            (std::vector<Phase>{Phase("wire", 0.5), Phase("apply", 1)}));
}

TEST_F(RunRecordsTest, WhatAutoCompressedIsThereOrNot) {
  const auto run = Read(absl::StrCat(
      kStart, IterationLine(1, 90),
      R"({"event":"iteration","iteration":2,)"
      R"("iteration_compressed_share":0.25,"compressed_share":0.75})",
      "\n"));
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->iterations[0].compressed_share, std::nullopt);
  EXPECT_EQ(run->iterations[1].compressed_share, 0.25);
  EXPECT_EQ(run->compressed_share, 0.75);
  const auto without = Read(absl::StrCat(kStart, IterationLine(1, 90)));
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_TRUE(std::isnan(without->compressed_share));
}

TEST_F(RunRecordsTest, ARunWithoutATargetHasNone) {
  const auto run = Read(
      "{\"event\":\"start\",\"target_ratio\":null}\n"
      "{\"event\":\"iteration\",\"iteration\":1,\"achieved_ratio\":0.25}\n");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_TRUE(std::isnan(run->target_ratio));
  EXPECT_EQ(run->achieved_ratio, 0.25);
}

TEST_F(RunRecordsTest, ARunThatHasOnlyStartedIsEmpty) {
  const auto run = Read(kStart);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_TRUE(run->iterations.empty());
  EXPECT_TRUE(std::isnan(run->seconds));
}

TEST_F(RunRecordsTest, ALastLineWithoutItsEndIsPassedOver) {
  const std::string whole = absl::StrCat(kStart, IterationLine(1, 90));
  const std::string last = IterationLine(2, 110);
  for (size_t size = 0; size < last.size(); ++size) {
    const auto run = Read(whole + last.substr(0, size));
    ASSERT_TRUE(run.ok()) << run.status();
    EXPECT_EQ(run->iterations.size(), 1u);
  }
}

TEST_F(RunRecordsTest, UnknownEventsAreThoseOfNewerVersions) {
  const auto run = Read(
      absl::StrCat(kStart, R"({"event":"checkpoint","iteration":1})", "\n"));
  EXPECT_TRUE(run.ok()) << run.status();
}

TEST_F(RunRecordsTest, DamagedLinesAreNamed) {
  for (const char* line : {"{\"event\":\"iteration\"", "[1]", "", "nonsense",
                           "{\"event\":\"iteration\"}"}) {
    const auto run = Read(absl::StrCat(kStart, line, "\n"));
    EXPECT_EQ(run.status().code(), absl::StatusCode::kDataLoss) << line;
    EXPECT_THAT(std::string(run.status().message()),
                HasSubstr("metrics.jsonl, line 2 "));
  }
  EXPECT_THAT(std::string(Read(IterationLine(1, 1)).status().message()),
              HasSubstr("line 1 does not have the event \"start\""));
  EXPECT_THAT(
      std::string(Read(absl::StrCat(kStart, kStart)).status().message()),
      HasSubstr("line 2 has the event \"start\" again"));
  EXPECT_THAT(std::string(Read("").status().message()),
              HasSubstr("no complete line"));
}

TEST_F(RunRecordsTest, AMissingRunIsNamedWithWhatARunIs) {
  const absl::Status status = ReadRunRecords("/no/such/run").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/no/such/run"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("gradsieve train"));
}

TEST_F(RunRecordsTest, QualityLeavesOutTheFirstTwenty) {
  RunRecords run;
  IterationRow row;
  row.target_count = 100;
  for (int i = 0; i < 20; ++i) {
    row.count = 1000;
    run.iterations.push_back(row);
  }
  EXPECT_EQ(MeasureRatioQuality(run).iterations, 0);
  for (const double count : {100.0, 120.0, 79.0, 101.0}) {
    row.count = count;
    run.iterations.push_back(row);
  }
  // Iterations without a target and without sent elements do not count.
  row.count = row.target_count = 0;
  run.iterations.push_back(row);
  const RatioQuality quality = MeasureRatioQuality(run);
  EXPECT_EQ(quality.iterations, 4);
  EXPECT_DOUBLE_EQ(quality.mean, 1);
  EXPECT_DOUBLE_EQ(quality.share_within_20, 0.75);
  run.target_ratio = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(MeasureRatioQuality(run).iterations, 0);
}

}  // namespace
}  // namespace ps
