#include "worker/page/live_page.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "worker/records/evaluation.h"

namespace ps {
namespace {

using ::nlohmann::json;
using ::testing::HasSubstr;

RunHeader Header() {
  RunHeader header;
  header.job = "</script>";
  header.num_workers = 3;
  header.total_iterations = 100;
  return header;
}

IterationRecord Record(int64_t iteration) {
  IterationRecord record;
  record.training_loss = 1.0 / static_cast<double>(iteration);
  record.seconds = 0.5;
  record.timings.compute = 0.2;
  record.timings.compress = 0.1;
  record.timings.await = 0.2;
  record.buckets.resize(1);
  record.buckets[0].target_count = 100;
  record.buckets[0].count = iteration % 2 == 0 ? 110 : 150;
  record.totals.iterations = iteration;
  record.totals.seconds = 0.5 * static_cast<double>(iteration);
  record.totals.samples_per_second = 128;
  record.totals.bytes_up = 10 * iteration;
  record.totals.bytes_down = 20 * iteration;
  return record;
}

ServerReport Missing(std::vector<int> ranks) {
  ServerReport report;
  report.version = 7;
  report.missing_ranks = std::move(ranks);
  report.awaited_ranks = {2};
  return report;
}

std::string Events(const LivePage& page) {
  std::string all;
  const json state = json::parse(page.State());
  for (const json& event : state["events"]) {
    absl::StrAppend(&all, event["text"].get<std::string>(), "\n");
  }
  return all;
}

TEST(LivePage, BeforeTrainingItSaysThatItHasNotBegun) {
  const LivePage page({"unix:/s"}, "");
  const json state = json::parse(page.State());
  EXPECT_EQ(state["begun"], false);
  EXPECT_EQ(state["servers"][0]["answers"], false);
}

TEST(LivePage, SaysHowFarTheTrainingIsAndHowLongTheRestTakes) {
  LivePage page({"unix:/s"}, "");
  page.Begins(Header());
  for (int i = 1; i <= 40; ++i) page.Iteration(Record(i));
  const json state = json::parse(page.State());
  EXPECT_EQ(state["now"]["iteration"], 40);
  EXPECT_DOUBLE_EQ(state["now"]["seconds_to_go"], 60 * 0.5);
  EXPECT_DOUBLE_EQ(state["now"]["samples_per_second"], 128);
  EXPECT_NEAR(state["phases"]["compute"], 200, 1e-9) << "milliseconds";
  EXPECT_NEAR(state["phases"]["await"], 200, 1e-9);
  EXPECT_EQ(state["history"]["bytes"][39], 40 * 30);
  EXPECT_DOUBLE_EQ(state["history"]["loss"][3], 0.25);
  // The first 20 pushes do not count.
  EXPECT_DOUBLE_EQ(state["buckets"][0]["mean_over_target"], 1.3);
  EXPECT_DOUBLE_EQ(state["buckets"][0]["within_20"], 0.5);
}

TEST(LivePage, ResultsStandWhereTheyWereMeasured) {
  LivePage page({}, "");
  page.Begins(Header());
  page.Iteration(Record(10));
  Evaluation evaluation;
  evaluation.accuracy = 0.75;
  page.Evaluated(Metrics(evaluation));
  const json results = json::parse(page.State())["results"];
  EXPECT_EQ(results["metric"], "accuracy");
  EXPECT_EQ(results["latest"], "75.00 %");
  EXPECT_EQ(results["iteration"], json::array({10}));
  EXPECT_EQ(results["seconds"], json::array({5.0}));
  EXPECT_EQ(results["value"], json::array({0.75}));
  EXPECT_THAT(Events(page), HasSubstr("test accuracy 75.00 %"));
}

TEST(LivePage, WorkersAndServersThatAreLostComeBack) {
  LivePage page({"a:1", "b:2"}, "");
  page.Heard(0, Missing({0, 1, 2}));  // Nobody has come yet.
  page.Begins(Header());
  page.Heard(0, Missing({}));
  page.Heard(1, Missing({}));
  page.Iteration(Record(1));
  EXPECT_EQ(Events(page), "training begins\n");

  page.Heard(1, Missing({1}));
  json state = json::parse(page.State());
  EXPECT_EQ(state["workers"][1]["missing"], true);
  EXPECT_EQ(state["workers"][2]["missing"], false);
  EXPECT_EQ(state["workers"][2]["awaited"], true);
  page.Heard(1, Missing({}));
  EXPECT_EQ(json::parse(page.State())["workers"][1]["missing"], false);

  ServerReport gone;
  gone.status = absl::UnavailableError("connection refused");
  page.Heard(0, gone);
  page.Heard(0, gone);
  state = json::parse(page.State());
  EXPECT_EQ(state["servers"][0]["answers"], false);
  EXPECT_EQ(state["servers"][0]["error"], "connection refused");
  EXPECT_EQ(state["servers"][1]["version"], 7);
  page.Heard(0, Missing({}));
  EXPECT_EQ(Events(page),
            "training begins\nworker 1 is lost\nworker 1 is back\n"
            "server 0 does not answer: connection refused\n"
            "server 0 answers again\n");
}

TEST(LivePage, ShowsWhatTheRunRecordedBeforeThisProcess) {
  const std::string directory = absl::StrCat(testing::TempDir(), "/live_page");
  std::filesystem::create_directories(directory);
  std::ofstream(directory + "/metrics.jsonl")
      << R"({"event":"start"})"
      << "\n"
      << R"({"event":"iteration","iteration":1,"training_loss":3,"seconds":2,)"
      << R"("bytes_up":5,"bytes_down":6,"samples_per_second":4})"
      << "\n"
      << R"({"event":"evaluation","iteration":1,"metric":"test_accuracy",)"
      << R"("test_accuracy":0.5})"
      << "\n"
      << R"({"event":"iteration","iteration":2,"training_loss":2,"sec)";
  LivePage page({}, directory);
  page.Begins(Header());
  page.Iteration(Record(2));
  const json state = json::parse(page.State());
  EXPECT_EQ(state["history"]["loss"], json::array({3.0, 0.5}));
  EXPECT_EQ(state["results"]["value"], json::array({0.5}));
  EXPECT_EQ(state["results"]["bytes"], json::array({11.0}));
}

}  // namespace
}  // namespace ps
