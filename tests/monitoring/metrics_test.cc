// What servers and workers tell Prometheus.
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "monitoring/buckets.h"
#include "monitoring/process_metrics.h"
#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "prometheus/registry.h"
#include "prometheus/text_serializer.h"
#include "server/server_metrics.h"
#include "worker/records/evaluation.h"
#include "worker/records/worker_metrics.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string TextOf(
    const std::vector<std::shared_ptr<prometheus::Collectable>>& sources) {
  std::vector<prometheus::MetricFamily> families;
  for (const auto& source : sources) {
    for (auto& family : source->Collect()) families.push_back(family);
  }
  return prometheus::TextSerializer().Serialize(families);
}

TEST(MetricsTest, BucketsAscend) {
  for (const std::vector<double>& buckets :
       {SecondsBuckets(), UpdatesBuckets()}) {
    for (size_t i = 1; i < buckets.size(); ++i) {
      EXPECT_LT(buckets[i - 1], buckets[i]);
    }
  }
  EXPECT_DOUBLE_EQ(SecondsBuckets().front(), 1e-5);
  EXPECT_DOUBLE_EQ(SecondsBuckets().back(), 100);
}

TEST(MetricsTest, AServerCountsCallsByTheirStatus) {
  JobConfig job;
  job.set_name("lenet");
  ServerMetrics metrics(job, 1);
  metrics.CallEnded("Push", absl::StatusCode::kOk);
  metrics.CallEnded("Push", absl::StatusCode::kPermissionDenied);
  metrics.CallEnded("Push", absl::StatusCode::kPermissionDenied);
  metrics.PushReceived(1000);
  metrics.InitialWeightsReceived(4000);
  metrics.Sent(/*difference=*/true, 30);
  ServerTimings timings;
  timings.held = 0.03;
  timings.wait = 0.015;
  metrics.PushAnswered(timings, /*staleness=*/3);
  metrics.LogAppended(absl::Milliseconds(1), 500);
  metrics.SnapshotWritten(absl::Seconds(2), absl::OkStatus());
  metrics.SnapshotWritten(absl::Seconds(2), absl::DataLossError(""));
  EXPECT_THAT(
      TextOf({metrics.registry()}),
      AllOf(HasSubstr("gradsieve_server_info{index=\"1\",job=\"lenet\","),
            HasSubstr("gradsieve_server_calls_total{code=\"OK\","
                      "method=\"Push\"} 1\n"),
            HasSubstr("gradsieve_server_calls_total{code=\"PERMISSION_DENIED\","
                      "method=\"Push\"} 2\n"),
            HasSubstr("received_bytes_total{kind=\"push\"} 1000\n"),
            HasSubstr("received_bytes_total{kind=\"initial_weights\"} 4000\n"),
            HasSubstr("sent_bytes_total{kind=\"difference\"} 30\n"),
            HasSubstr("push_seconds_sum{phase=\"held\"} 0.03\n"),
            HasSubstr("staleness_updates_bucket{le=\"2\"} 0\n"),
            HasSubstr("staleness_updates_bucket{le=\"4\"} 1\n"),
            HasSubstr("log_bytes_total 500\n"),
            HasSubstr("snapshot_seconds_count 1\n"),
            HasSubstr("snapshot_failures_total 1\n")));
}

IterationRecord SomeIteration() {
  IterationRecord record;
  record.epoch = 2.5;
  record.training_loss = 0.25;
  record.achieved_ratio = 0.011;
  record.count = 110;
  record.target_count = 100;
  record.threshold = 0.5;
  record.stages = 3;
  record.fallback = "capped";
  record.max_staleness = 1;
  record.seconds = 0.25;
  record.timings.compute = 0.0625;
  record.timings.compress = 0.0625;
  record.timings.await = 0.125;
  record.retries = 2;
  record.totals.iterations = 40;
  record.totals.bytes_up = 9;
  return record;
}

TEST(MetricsTest, AWorkerTellsOfItsIterations) {
  WorkerMetrics metrics(1);
  RunHeader header;
  header.job = "lenet";
  header.compressor = "sidco_e";
  metrics.Begins(header);
  IterationRecord record = SomeIteration();
  record.residual_norm = 7;
  record.gradient_norm = 5;
  metrics.Iteration(record);
  // The norms are not measured every time.
  metrics.Iteration(SomeIteration());
  EXPECT_THAT(
      TextOf(metrics.sources()),
      AllOf(HasSubstr("gradsieve_worker_info{compressor=\"sidco_e\","),
            HasSubstr("phase_seconds_sum{phase=\"compute\"} 0.125\n"),
            HasSubstr("push_interval_seconds_count 2\n"),
            HasSubstr("worker_threshold 0.5\n"),
            HasSubstr("selected_over_target 1.1"),
            HasSubstr("residual_norm 7\n"), HasSubstr("gradient_norm 5\n"),
            HasSubstr("fallbacks_total{reason=\"capped\"} 2\n"),
            HasSubstr("retries_total 4\n"), Not(HasSubstr("gradsieve_job"))));
}

TEST(MetricsTest, WorkerZeroTellsOfTheJob) {
  WorkerMetrics metrics(0);
  RunHeader header;
  header.total_iterations = 100;
  header.target_ratio = 0.01;
  metrics.Begins(header);
  metrics.Iteration(SomeIteration());
  Evaluation evaluation;
  evaluation.accuracy = 0.875;
  metrics.Evaluated(Metrics(evaluation));
  EXPECT_THAT(TextOf(metrics.sources()),
              AllOf(HasSubstr("gradsieve_job_iterations_total 40\n"),
                    HasSubstr("gradsieve_job_planned_iterations 100\n"),
                    HasSubstr("gradsieve_job_training_loss 0.25\n"),
                    HasSubstr("gradsieve_job_target_ratio 0.01\n"),
                    HasSubstr("gradsieve_job_achieved_ratio 0.011\n"),
                    HasSubstr("gradsieve_job_bytes_up_total 9\n"),
                    HasSubstr("gradsieve_job_evaluation{metric=\"accuracy\"} "
                              "0.875\n")));
}

// docs/site/build makes a reference of these lines.
TEST(MetricsTest, EachSaysWhatItMeansInASentence) {
  ServerMetrics server(JobConfig(), 0);
  server.CallEnded("Push", absl::StatusCode::kOk);
  WorkerMetrics worker(0);
  worker.Begins(RunHeader());
  worker.Iteration(SomeIteration());
  auto sources = worker.sources();
  sources.push_back(server.registry());
  sources.push_back(ProcessMetrics());
  std::set<std::string> names;
  for (const absl::string_view line : absl::StrSplit(TextOf(sources), '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (words[0] != "#" || words[1] != "HELP") continue;
    names.insert(words[2]);
    EXPECT_GE(words.size(), 5u) << line;
    EXPECT_TRUE(absl::EndsWith(line, ".")) << line;
  }
  EXPECT_GE(names.size(), 40u);
}

}  // namespace
}  // namespace ps
