#include "bridge/push_records.h"

#include <algorithm>
#include <limits>

#include "absl/memory/memory.h"
#include "common/clock.h"
#include "common/status_macros.h"

namespace ps {
namespace {

// The interval of norms, each of which costs a pass over memory.
constexpr int64_t kNormsEvery = 10;

}  // namespace

PushRecords::PushRecords(const PushRecordsOptions& options)
    : options_(options),
      totals_(options.config->cluster().num_workers(), options.num_parameters) {
}

absl::StatusOr<std::unique_ptr<PushRecords>> PushRecords::Create(
    const PushRecordsOptions& options) {
  auto records = absl::WrapUnique(new PushRecords(options));
  const RunHeader header = HeaderOf(*options.config, options.num_parameters);
  for (TrainingObserver* const observer : options.observers) {
    observer->Begins(header);
  }
  if (!options.run_directory.empty()) {
    PS_ASSIGN_OR_RETURN(records->recorder_,
                        RunRecorder::Create(options.run_directory, header));
  }
  return records;
}

absl::StatusOr<std::optional<double>> PushRecords::Push(
    const ExchangeStats& stats, bool has_loss, GradientPipeline* pipeline) {
  const absl::Time now = SteadyClock()->Now();
  std::optional<double> seconds;
  if (last_push_ended_.has_value()) {
    seconds = absl::ToDoubleSeconds(now - *last_push_ended_);
  }
  last_push_ended_ = now;
  MadePush push;
  push.stats = stats;
  // What went before the first push is not known.
  push.seconds = seconds.value_or(stats.timings.iteration());
  push.num_iterations =
      std::max(1, options_.config->consistency().local_steps());
  push.iterations_done = totals().iterations + push.num_iterations;
  totals_.AddPush(push);
  const int64_t elements =
      options_.num_parameters * options_.config->cluster().num_workers();
  IterationRecord record = RecordOf(push, elements, totals());
  if (!has_loss)
    record.training_loss = std::numeric_limits<double>::quiet_NaN();
  std::vector<double*> sums;
  ForEachTiming(timings_,
                [&](const char*, double& sum) { sums.push_back(&sum); });
  size_t next = 0;
  ForEachTiming(record.timings,
                [&](const char*, double value) { *sums[next++] += value; });
  if (recorder_ == nullptr && options_.observers.empty()) return seconds;
  if ((num_pushes() - 1) % kNormsEvery == 0) {
    PS_ASSIGN_OR_RETURN(record.residual_norm, pipeline->ResidualNorm());
    if (!options_.observers.empty()) {
      PS_ASSIGN_OR_RETURN(record.gradient_norm, pipeline->GradientNorm());
    }
  }
  if (recorder_ != nullptr) recorder_->Iteration(record);
  for (TrainingObserver* const observer : options_.observers) {
    observer->Iteration(record);
  }
  return seconds;
}

void PushRecords::Evaluated(const std::vector<Metric>& metrics) {
  metrics_ = metrics;
  // How often the data have been passed over is not known.
  if (recorder_ != nullptr)
    recorder_->Evaluated(totals().iterations, 0, metrics);
  for (TrainingObserver* const observer : options_.observers) {
    observer->Evaluated(metrics);
  }
}

absl::Status PushRecords::Close() {
  if (recorder_ == nullptr) return absl::OkStatus();
  RunSummary summary;
  summary.totals = totals();
  summary.metrics = metrics_;
  return recorder_->WriteSummary(summary);
}

}  // namespace ps
