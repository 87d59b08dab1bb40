#include "worker/records/worker_metrics.h"

#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/metric.h"
#include "common/version.h"
#include "monitoring/buckets.h"
#include "monitoring/read_metrics.h"
#include "prometheus/counter.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"

namespace ps {

using ::prometheus::BuildCounter;
using ::prometheus::BuildGauge;
using ::prometheus::BuildHistogram;
using ::prometheus::Family;
using ::prometheus::Histogram;

WorkerMetrics::WorkerMetrics(int rank)
    : rank_(rank),
      registry_(std::make_shared<prometheus::Registry>()),
      read_(std::make_shared<ReadMetrics>()) {
  iteration_ = &BuildHistogram()
                    .Name("gradsieve_worker_push_interval_seconds")
                    .Help(
                        "Time of the iterations of one push, of which there "
                        "is one unless the job has local steps.")
                    .Register(*registry_)
                    .Add({}, SecondsBuckets());
  Family<Histogram>& phases =
      BuildHistogram()
          .Name("gradsieve_worker_phase_seconds")
          .Help(
              "Time of the parts of a push's iterations on this worker: "
              "computing, compressing, waiting for answers, applying them.")
          .Register(*registry_);
  compute_ = &phases.Add({{"phase", "compute"}}, SecondsBuckets());
  compress_ = &phases.Add({{"phase", "compress"}}, SecondsBuckets());
  await_ = &phases.Add({{"phase", "await"}}, SecondsBuckets());
  apply_ = &phases.Add({{"phase", "apply"}}, SecondsBuckets());
  staleness_ = &BuildHistogram()
                    .Name("gradsieve_worker_staleness_updates")
                    .Help(
                        "Largest number, over the slices of a push, of "
                        "others' updates between its weights and its own "
                        "update.")
                    .Register(*registry_)
                    .Add({}, UpdatesBuckets());
  snapshot_seconds_ = &BuildHistogram()
                           .Name("gradsieve_worker_snapshot_seconds")
                           .Help("Time to write a snapshot, beside training.")
                           .Register(*registry_)
                           .Add({}, SecondsBuckets());
  snapshot_failures_ = &BuildCounter()
                            .Name("gradsieve_worker_snapshot_failures_total")
                            .Help("Snapshots that could not be written.")
                            .Register(*registry_)
                            .Add({});
  retries_ = &BuildCounter()
                  .Name("gradsieve_worker_retries_total")
                  .Help(
                      "Pushes that were sent again, because a server could "
                      "not be reached or had no room.")
                  .Register(*registry_)
                  .Add({});
  fallbacks_ = &BuildCounter()
                    .Name("gradsieve_worker_fallbacks_total")
                    .Help(
                        "Pushes whose first bucket was not selected as the "
                        "compressor's estimate alone would, by reason.")
                    .Register(*registry_);
  AddOwn();
  if (rank_ == 0) AddJob();
}

void WorkerMetrics::AddOwn() {
  // Reads a value of the latest iteration.
  const auto latest = [this](double (*value)(const IterationRecord& record)) {
    return [this, value] {
      MutexLock lock(&mu_);
      return value(latest_);
    };
  };
  read_->AddGauge("gradsieve_worker_threshold",
                  "Magnitudes of the first bucket above this were sent.",
                  latest([](const auto& record) { return record.threshold; }));
  read_->AddGauge("gradsieve_worker_threshold_stages",
                  "Stages with which the threshold was estimated.",
                  latest([](const auto& record) {
                    return static_cast<double>(record.stages);
                  }));
  read_->AddGauge("gradsieve_worker_selected_over_target",
                  "Elements that this worker selected over those that the "
                  "ratio asks for; 1 is right.",
                  latest([](const auto& record) {
                    return record.target_count == 0
                               ? 1.0
                               : static_cast<double>(record.count) /
                                     static_cast<double>(record.target_count);
                  }));
  read_->AddGauge("gradsieve_worker_residual_norm",
                  "Euclidean norm of what was kept to send later; every tenth "
                  "push.",
                  [this] {
                    MutexLock lock(&mu_);
                    return residual_norm_;
                  });
  read_->AddGauge("gradsieve_worker_gradient_norm",
                  "Euclidean norm of the gradient or, in delta mode, of the "
                  "worker's own step; every tenth push.",
                  [this] {
                    MutexLock lock(&mu_);
                    return gradient_norm_;
                  });
}

void WorkerMetrics::AddJob() {
  const auto latest = [this](double (*value)(const IterationRecord& record)) {
    return [this, value] {
      MutexLock lock(&mu_);
      return value(latest_);
    };
  };
  const auto header = [this](double (*value)(const RunHeader& header)) {
    return [this, value] {
      MutexLock lock(&mu_);
      return value(header_);
    };
  };
  const auto gauge = [&](const std::string& name, const std::string& help,
                         double (*value)(const IterationRecord& record)) {
    read_->AddGauge(absl::StrCat("gradsieve_job_", name), help, latest(value));
  };
  const auto counter = [&](const std::string& name, const std::string& help,
                           double (*value)(const IterationRecord& record)) {
    read_->AddCounter(absl::StrCat("gradsieve_job_", name, "_total"), help,
                      latest(value));
  };
  counter("iterations", "Iterations that are done.", [](const auto& record) {
    return static_cast<double>(record.totals.iterations);
  });
  read_->AddGauge("gradsieve_job_planned_iterations",
                  "Iterations of the whole job.", header([](const auto& run) {
                    return static_cast<double>(run.total_iterations);
                  }));
  gauge("epoch", "Passes over the data so far.",
        [](const auto& record) { return record.epoch; });
  gauge("training_loss", "Mean loss of the latest push over all workers.",
        [](const auto& record) { return record.training_loss; });
  gauge("samples_per_second", "Training examples of all workers a second.",
        [](const auto& record) { return record.totals.samples_per_second; });
  read_->AddGauge("gradsieve_job_target_ratio",
                  "Elements to send over elements, as the job asks for; NaN "
                  "for compressors without a ratio.",
                  header([](const auto& run) { return run.target_ratio; }));
  gauge("achieved_ratio",
        "Elements that all workers sent over elements, in the latest push.",
        [](const auto& record) { return record.achieved_ratio; });
  counter("bytes_up", "Messages from workers to servers.",
          [](const auto& record) {
            return static_cast<double>(record.totals.bytes_up);
          });
  counter("bytes_down", "Answers from servers to workers.",
          [](const auto& record) {
            return static_cast<double>(record.totals.bytes_down);
          });
  counter("dense_bytes_up", "Bytes that dense fp32 gradients would have been.",
          [](const auto& record) {
            return static_cast<double>(record.totals.dense_bytes_up);
          });
  counter("dense_bytes_down", "Bytes that dense fp32 weights would have been.",
          [](const auto& record) {
            return static_cast<double>(record.totals.dense_bytes_down);
          });
  read_->AddGauges("gradsieve_job_evaluation", "Latest result on the test set.",
                   "metric", [this] {
                     MutexLock lock(&mu_);
                     std::vector<ReadMetrics::Labelled> values;
                     for (const Metric& metric : evaluation_) {
                       values.push_back({metric.name, metric.value});
                     }
                     return values;
                   });
}

void WorkerMetrics::Begins(const RunHeader& header) {
  BuildGauge()
      .Name("gradsieve_worker_info")
      .Help("1; the labels say what runs here.")
      .Register(*registry_)
      .Add({{"version", kVersion},
            {"job", header.job},
            {"rank", absl::StrCat(rank_)},
            {"model", header.model},
            {"compressor", header.compressor},
            {"value_code", header.value_code}})
      .Set(1);
  MutexLock lock(&mu_);
  header_ = header;
}

void WorkerMetrics::Iteration(const IterationRecord& record) {
  const Timings& timings = record.timings;
  iteration_->Observe(record.seconds);
  compute_->Observe(timings.compute);
  compress_->Observe(timings.compress);
  await_->Observe(timings.await);
  apply_->Observe(timings.apply);
  staleness_->Observe(static_cast<double>(record.max_staleness));
  retries_->Increment(static_cast<double>(record.retries));
  if (!record.fallback.empty()) {
    fallbacks_->Add({{"reason", record.fallback}}).Increment();
  }
  MutexLock lock(&mu_);
  latest_ = record;
  residual_norm_ = record.residual_norm.value_or(residual_norm_);
  gradient_norm_ = record.gradient_norm.value_or(gradient_norm_);
}

void WorkerMetrics::Evaluated(const std::vector<Metric>& metrics) {
  MutexLock lock(&mu_);
  evaluation_ = metrics;
}

void WorkerMetrics::SnapshotWritten(absl::Duration took,
                                    const absl::Status& result) {
  if (result.ok()) {
    snapshot_seconds_->Observe(absl::ToDoubleSeconds(took));
  } else {
    snapshot_failures_->Increment();
  }
}

std::vector<std::shared_ptr<prometheus::Collectable>> WorkerMetrics::sources()
    const {
  return {registry_, read_};
}

}  // namespace ps
