#include "tools/bench/load/report.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

ProcessMemory Memory(const std::string& name, int64_t late_megabytes) {
  ProcessMemory memory;
  memory.name = name;
  for (int second = 0; second <= 20; ++second) {
    memory.samples.push_back({static_cast<double>(second),
                              (second < 10 ? 100 : late_megabytes) << 20});
  }
  return memory;
}

// 40 iterations in 20 seconds.
LoadRun OneLoad(int64_t late_megabytes) {
  LoadRun run;
  run.settings.options.workers = 3;
  run.settings.options.servers = 2;
  run.settings.elements = 1000000;
  run.settings.job.mutable_compressor()->set_name("topk");
  LoadResult& result = run.result;
  result.seconds = 20;
  result.iterations = 40;
  result.counts.pushes = 240;
  result.counts.payload_bytes = 5'000'000;
  result.counts.answer_bytes = 7'000'000;
  for (int i = 1; i <= 1000; ++i) {
    result.counts.push.Add(i * int64_t{1'000'000});
    result.counts.iteration.Add(2 * i * int64_t{1'000'000});
  }
  result.servers = {/*user=*/3, /*system=*/1};
  result.workers = {/*user=*/5, /*system=*/3};
  result.server_memory = {Memory("server 0", 100),
                          Memory("server 1", late_megabytes)};
  // Worker processes are not judged.
  result.worker_memory = {Memory("worker process 0", 500)};
  result.plan.streams = 3;
  result.plan.ring = 8;
  result.payload_bytes = 123456;
  result.worker_processes = 1;
  return run;
}

TEST(LoadReport, JsonHasWhatWasMeasured) {
  const auto json = nlohmann::json::parse(LoadJson(OneLoad(100)));
  EXPECT_EQ(json["workers"], 3);
  EXPECT_EQ(json["servers"], 2);
  EXPECT_EQ(json["parameters"], 1000000);
  EXPECT_EQ(json["iterations"], 40);
  EXPECT_DOUBLE_EQ(json["seconds_per_iteration"], 0.5);
  EXPECT_EQ(json["pushes"], 240);
  EXPECT_EQ(json["payload_bytes"], 5'000'000);
  EXPECT_EQ(json["answer_bytes"], 7'000'000);
  EXPECT_DOUBLE_EQ(json["server_cpu_seconds_per_iteration"], 0.1);
  EXPECT_DOUBLE_EQ(json["worker_cpu_seconds_per_iteration"], 0.2);
  const double error = json["latency_relative_error"];
  EXPECT_GT(error, 0);
  EXPECT_LT(error, 0.01);
  const auto& push = json["push_latency_seconds"];
  EXPECT_EQ(push["count"], 1000);
  EXPECT_NEAR(push["p50"], 0.5, error * 0.5);
  EXPECT_NEAR(push["p90"], 0.9, error * 0.9);
  EXPECT_NEAR(push["p99"], 0.99, error * 0.99);
  EXPECT_NEAR(push["p99.9"], 0.999, error * 0.999);
  EXPECT_DOUBLE_EQ(push["max"], 1);
  EXPECT_DOUBLE_EQ(json["iteration_latency_seconds"]["max"], 2);
  EXPECT_EQ(json["weights_verified"], true);
  EXPECT_FALSE(json.contains("weights_not_verified_because"));
  EXPECT_EQ(json["prepared"]["streams"], 3);
  EXPECT_EQ(json["prepared"]["ring"], 8);
  EXPECT_EQ(json["prepared"]["bytes_in_each_worker_process"], 123456);
  EXPECT_EQ(json["settings"]["compressor"], "name: \"topk\"");
}

TEST(LoadReport, JsonHasTheServersMemoryAndTheVerdict) {
  const auto json = nlohmann::json::parse(LoadJson(OneLoad(120)));
  EXPECT_EQ(json["memory_flat"], false);
  EXPECT_THAT(json["memory_rule"].get<std::string>(), HasSubstr("2 % + 8 MiB"));
  ASSERT_EQ(json["server_memory"].size(), 2);
  EXPECT_EQ(json["server_memory"][0]["flat"], true);
  const auto& grows = json["server_memory"][1];
  EXPECT_EQ(grows["process"], "server 1");
  EXPECT_EQ(grows["first_bytes"], 100 << 20);
  EXPECT_EQ(grows["after_tenth_bytes"], 100 << 20);
  EXPECT_EQ(grows["last_bytes"], 120 << 20);
  EXPECT_EQ(grows["largest_bytes"], 120 << 20);
  EXPECT_EQ(grows["largest_before_half_bytes"], 100 << 20);
  EXPECT_EQ(grows["largest_after_half_bytes"], 120 << 20);
  EXPECT_EQ(grows["flat"], false);
  ASSERT_EQ(json["worker_memory"].size(), 1);
  EXPECT_EQ(json["worker_memory"][0]["largest_bytes"], 500 << 20);
  EXPECT_EQ(nlohmann::json::parse(LoadJson(OneLoad(100)))["memory_flat"], true);
}

TEST(LoadReport, ALoadThatWasTooShortIsNeitherFlatNorNot) {
  LoadRun run = OneLoad(120);
  run.result.server_memory[1].samples.resize(1);
  EXPECT_TRUE(nlohmann::json::parse(LoadJson(run))["memory_flat"].is_null());
  EXPECT_THAT(LoadText(run), HasSubstr("Servers' memory: too short to say."));
  EXPECT_TRUE(CheckMemoryFlat(run).ok());
}

TEST(LoadReport, GrowingMemoryIsAnErrorThatNamesTheServer) {
  EXPECT_TRUE(CheckMemoryFlat(OneLoad(100)).ok());
  const absl::Status status = CheckMemoryFlat(OneLoad(120));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("the memory of server 1 grows: at most 105 MB "
                              "before the half, 126 MB after it"),
                    HasSubstr(kFlatRule)));
}

TEST(LoadReport, TextSaysItAll) {
  const std::string text = LoadText(OneLoad(100));
  EXPECT_THAT(text, HasSubstr("3 workers in 1 process, 2 servers; 1,000,000 "
                              "parameters (4.00 MB)"));
  EXPECT_THAT(text, HasSubstr("3 streams of 8 iterations, replayed, 123 kB of "
                              "payloads in each worker process"));
  EXPECT_THAT(text, HasSubstr("40 iterations in 20.0 s, 500.000 ms each; 240 "
                              "pushes, 5.00 MB of payloads pushed, 7.00 MB "
                              "answered"));
  EXPECT_THAT(text, HasSubstr("servers 100.000 ms, workers 200.000 ms"));
  EXPECT_THAT(text, HasSubstr("  1000.000\n"));
  EXPECT_THAT(text, HasSubstr("Servers' memory: flat."));
  EXPECT_THAT(text, HasSubstr("Verified: "));
  EXPECT_THAT(LoadText(OneLoad(120)), HasSubstr("Servers' memory: GROWS."));
}

TEST(LoadReport, WhatWasNotVerifiedIsSaid) {
  LoadRun run = OneLoad(100);
  run.result.not_verified = "weights are not known";
  EXPECT_THAT(LoadText(run), AllOf(HasSubstr("weights are not known."),
                                   Not(HasSubstr("Verified"))));
  const auto json = nlohmann::json::parse(LoadJson(run));
  EXPECT_EQ(json["weights_verified"], false);
  EXPECT_EQ(json["weights_not_verified_because"], "weights are not known");
  EXPECT_THAT(SweepText({OneLoad(100), run}),
              HasSubstr("Workers and servers agree"));
}

TEST(LoadReport, ASweepHasARowAndAnObjectForEachLoad) {
  LoadRun larger = OneLoad(100);
  larger.settings.options.workers = 64;
  larger.result.iterations = 10;
  const std::string text = SweepText({OneLoad(100), larger});
  EXPECT_THAT(text, HasSubstr("\n      3     1,000,000         40   500.000"));
  EXPECT_THAT(text, HasSubstr("\n     64     1,000,000         10  2000.000"));
  // There are two servers.
  EXPECT_THAT(text, HasSubstr("210 MB\n"));
  EXPECT_THAT(text, HasSubstr("Each was verified"));
  const auto json = nlohmann::json::parse(SweepJson({OneLoad(100), larger}));
  ASSERT_EQ(json["runs"].size(), 2);
  EXPECT_EQ(json["runs"][0]["workers"], 3);
  EXPECT_EQ(json["runs"][1]["workers"], 64);
  EXPECT_DOUBLE_EQ(json["runs"][1]["seconds_per_iteration"], 2);
}

}  // namespace
}  // namespace ps
