// The trace of a real job contains every bucket and every slice, and its spans
// nest.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cluster/in_process_cluster.h"

namespace ps {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

JobConfig TracedJob() {
  JobConfig job = SmallJob(2, 2);
  job.mutable_training()->set_max_iterations(4);
  job.mutable_training()->set_bucket_megabytes(0.03);
  job.mutable_training()->set_trace_iteration(2);
  job.mutable_cluster()->set_max_slice_elements(4096);
  job.mutable_compressor()->set_name("sidco_e");
  job.mutable_compressor()->set_ratio(0.05);
  return job;
}

std::string Directory(const std::string& name) {
  return testing::TempDir() + "/" + name;
}

std::string Message(const ClusterRun& run) {
  return std::string(run.workers[0].status().message());
}

// A span of a thread, with its end.
struct Span {
  std::string name;
  double begin;
  double end;
};

// Spans of a thread must be disjoint or nested.
void ExpectNested(const std::vector<Span>& spans) {
  // Rounding error of the file's doubles.
  constexpr double kRounding = 1e-3;
  std::vector<Span> open;
  for (const Span& span : spans) {
    while (!open.empty() && open.back().end <= span.begin + kRounding) {
      open.pop_back();
    }
    if (!open.empty()) {
      EXPECT_LE(span.end, open.back().end + kRounding)
          << span.name << " in " << open.back().name;
    }
    open.push_back(span);
  }
}

TEST(TraceTest, HoldsEveryBucketAndSliceOfTheIteration) {
  const std::string directory = Directory("traced");
  const ClusterRun run = RunCluster(TracedJob(), directory);
  ASSERT_TRUE(run.ok()) << run.workers[0].status();
  const Json file = Json::parse(ReadFile(directory + "/trace.json").value());
  std::map<std::string, int> names;
  std::map<int, std::vector<Span>> spans;
  std::vector<std::pair<int64_t, int64_t>> ready;
  std::set<std::string> slices;
  double iteration_end = 0;
  for (const Json& event : file["traceEvents"]) {
    if (event["ph"] == "M") continue;
    const std::string name = event["name"];
    ++names[name];
    EXPECT_GE(event["ts"], 0) << name;
    if (event["ph"] == "X") {
      const double begin = event["ts"];
      const double duration = event["dur"];
      spans[event["tid"]].push_back({name, begin, begin + duration});
      if (name == "iteration 2") iteration_end = begin + duration;
    }
    if (event["ph"] == "i") {
      ready.emplace_back(event["args"]["begin"], event["args"]["end"]);
    }
    if (event["ph"] == "b") {
      slices.insert(name);
      EXPECT_GE(event["args"]["held_us"], 0);
      EXPECT_GT(event["args"]["bytes_down"], 0);
    }
    if (absl::StartsWith(name, "compress bucket")) {
      EXPECT_GT(event["args"]["bytes"], 0);
      EXPECT_GT(event["args"]["achieved_ratio"], 0);
      EXPECT_LE(event["args"]["achieved_ratio"], 1);
    }
  }
  // The ranges cover the model without gaps, starting from its end.
  ASSERT_FALSE(ready.empty());
  for (size_t i = 1; i < ready.size(); ++i) {
    EXPECT_EQ(ready[i].second, ready[i - 1].first);
  }
  EXPECT_EQ(ready.back().first, 0);
  int buckets = 0;
  int all_parts = 0;
  while (names[absl::StrCat("compress bucket ", buckets)] == 1) {
    EXPECT_EQ(names[absl::StrCat("push bucket ", buckets)], 1);
    int parts = 0;
    for (;; ++parts) {
      const std::string slice =
          absl::StrCat("bucket ", buckets, " slice ", parts);
      if (slices.erase(slice) == 0) break;
      EXPECT_EQ(names[absl::StrCat("apply ", slice)], 1);
    }
    EXPECT_GE(parts, 1) << buckets;
    all_parts += parts;
    ++buckets;
  }
  EXPECT_GE(buckets, 3);
  EXPECT_GT(all_parts, buckets);
  EXPECT_TRUE(slices.empty());
  for (const char* once : {"iteration 2", "read batch", "forward and backward",
                           "await", "loss forward"}) {
    EXPECT_EQ(names[once], 1) << once;
  }
  EXPECT_GE(names["convolution forward"], 2);
  EXPECT_GE(names["convolution backward"], 2);
  for (const auto& [thread, row] : spans) {
    ExpectNested(row);
    for (const Span& span : row) EXPECT_LE(span.end, iteration_end + 1e-3);
  }
  EXPECT_GE(file["otherData"]["hidden_share"], 0);
  EXPECT_LE(file["otherData"]["hidden_share"], 1);
}

TEST(TraceTest, ChangesNothing) {
  JobConfig job = TracedJob();
  const ClusterRun traced = RunCluster(job, Directory("changes_nothing"));
  job.mutable_training()->clear_trace_iteration();
  const ClusterRun plain = RunCluster(job);
  ASSERT_TRUE(traced.ok() && plain.ok());
  EXPECT_EQ(traced.workers[0]->weights, plain.workers[0]->weights);
}

// Which worker is late differs from run to run, and so do the pushes that are
// made.
TEST(TraceTest, IsOfTheNextPushWhereServersWentOnWithoutThatOne) {
  JobConfig job = TracedJob();
  job.mutable_cluster()->set_num_workers(3);
  job.mutable_training()->set_max_iterations(60);
  job.mutable_training()->set_epochs(100);
  job.mutable_training()->set_trace_iteration(20);
  job.mutable_consistency()->set_step_timeout_seconds(1e-4);
  job.mutable_consistency()->set_min_workers(1);
  const std::string directory = Directory("left_out");
  const ClusterRun run = RunCluster(job, directory);
  ASSERT_TRUE(run.ok()) << run.workers[0].status();
  const Json file = Json::parse(ReadFile(directory + "/trace.json").value());
  int64_t push = -1;
  for (const Json& event : file["traceEvents"]) {
    const std::string name = event["name"];
    if (!absl::StartsWith(name, "iteration ")) continue;
    EXPECT_EQ(push, -1) << "two of them";
    ASSERT_TRUE(absl::SimpleAtoi(absl::StripPrefix(name, "iteration "), &push));
  }
  EXPECT_GE(push, 20);
  EXPECT_LT(push, 60);
}

TEST(TraceTest, AnIterationThatNeverComesIsAnErrorBeforeTraining) {
  JobConfig job = TracedJob();
  // There is only one worker, because another one would wait for servers that
  // are gone.
  job.mutable_cluster()->set_num_workers(1);
  job.mutable_training()->set_trace_iteration(4);
  const ClusterRun run = RunCluster(job, Directory("never"));
  EXPECT_EQ(Message(run),
            "training.trace_iteration is 4; must be below the number of "
            "pushes, 4");
  // With local steps there are fewer pushes.
  job.mutable_training()->set_trace_iteration(2);
  job.mutable_worker_optimizer()->set_name("sgd");
  job.mutable_consistency()->set_local_steps(2);
  EXPECT_THAT(Message(RunCluster(job, Directory("never"))),
              HasSubstr("the number of pushes, 2"));
}

TEST(TraceTest, NeedsARunDirectory) {
  JobConfig job = TracedJob();
  job.mutable_cluster()->set_num_workers(1);
  EXPECT_THAT(Message(RunCluster(job)),
              HasSubstr("there is no run directory for trace.json"));
}

}  // namespace
}  // namespace ps
