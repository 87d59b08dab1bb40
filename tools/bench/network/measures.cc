#include "tools/bench/network/measures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "absl/strings/str_format.h"

namespace ps {
namespace {

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());  // 0 / 0 is NaN.
}

void MeasureTimes(std::vector<double> seconds, RunMeasures* measures) {
  const double mean = Mean(seconds);
  measures->mean = mean;
  // A NaN, which a damaged record may contain, cannot be ordered.
  if (!std::isfinite(mean)) return;
  double squares = 0;
  for (const double value : seconds) squares += (value - mean) * (value - mean);
  measures->deviation =
      std::sqrt(squares / (static_cast<double>(seconds.size()) - 1));
  std::sort(seconds.begin(), seconds.end());
  measures->median = seconds[seconds.size() / 2];
  measures->smallest = seconds.front();
  measures->largest = seconds.back();
}

// The iterations of row i.
double IterationsOf(const RunRecords& run, size_t i) {
  return run.iterations[i].iteration -
         (i > 0 ? run.iterations[i - 1].iteration : 0);
}

void MeasurePhases(const RunRecords& run, size_t begin, size_t end,
                   RunMeasures* measures) {
  std::map<std::string, double> counts;
  for (size_t i = begin; i < end; ++i) {
    for (const auto& [name, seconds] : run.iterations[i].phases) {
      auto sum = std::find_if(
          measures->phases.begin(), measures->phases.end(),
          [&name = name](const auto& each) { return each.first == name; });
      if (sum == measures->phases.end()) {
        sum = measures->phases.insert(sum, {name, 0});
      }
      sum->second += seconds;
      counts[name] += IterationsOf(run, i);
    }
  }
  for (auto& [name, sum] : measures->phases) {
    sum /= counts[name];
  }
}

// By iteration: the mean of the training loss over it and the ones before it,
// `window` in total; NaN if there are fewer, or if one of them is not finite.
std::vector<double> SmoothedLoss(const RunRecords& run, int64_t window) {
  std::vector<double> smoothed;
  for (size_t i = 0; i < run.iterations.size(); ++i) {
    double sum = RunMeasures::kUnknown;
    if (static_cast<int64_t>(i) + 1 >= window) {
      sum = 0;
      // Summed anew each time, because a loss that is not finite must not stay
      // in the sum.
      for (int64_t back = 0; back < window; ++back) {
        sum += run.iterations[i - static_cast<size_t>(back)].training_loss;
      }
    }
    const double mean = sum / static_cast<double>(window);
    smoothed.push_back(std::isfinite(mean) ? mean : RunMeasures::kUnknown);
  }
  return smoothed;
}

}  // namespace

std::optional<TargetReached> FindTarget(const RunRecords& run,
                                        const MeasureOptions& options) {
  if (!options.target_loss.has_value()) return std::nullopt;
  const std::vector<double> loss = SmoothedLoss(run, options.smoothing);
  for (size_t i = 0; i < loss.size(); ++i) {
    if (!(loss[i] <= *options.target_loss)) continue;  // Or NaN.
    TargetReached reached;
    reached.iteration = static_cast<int64_t>(run.iterations[i].iteration);
    reached.seconds = run.iterations[i].seconds;
    return reached;
  }
  return std::nullopt;
}

RunMeasures MeasureRun(const RunRecords& run, const MeasureOptions& options) {
  return MeasureRun(run, options,
                    {options.warm_up, std::numeric_limits<int64_t>::max()});
}

RunMeasures MeasureRun(const RunRecords& run, const MeasureOptions& options,
                       const PushRange& timed) {
  RunMeasures measures;
  measures.target = FindTarget(run, options);
  const size_t begin = static_cast<size_t>(timed.begin);
  const size_t end =
      std::min(run.iterations.size(), static_cast<size_t>(timed.end));
  if (end <= begin) return measures;
  std::vector<double> seconds;
  std::vector<double> ratios;
  // The records count from the start of the run.
  IterationRow before;
  if (begin > 0) before = run.iterations[begin - 1];
  double last = before.seconds;
  for (size_t i = begin; i < end; ++i) {
    const IterationRow& row = run.iterations[i];
    seconds.push_back((row.seconds - last) / IterationsOf(run, i));
    last = row.seconds;
    ratios.push_back(row.achieved_ratio);
  }
  MeasureTimes(std::move(seconds), &measures);
  MeasurePhases(run, begin, end, &measures);
  const IterationRow& after = run.iterations[end - 1];
  const double count = after.iteration - before.iteration;
  if (std::isfinite(count)) measures.iterations = std::llround(count);
  measures.bytes_up = (after.bytes_up - before.bytes_up) / count;
  measures.bytes_down = (after.bytes_down - before.bytes_down) / count;
  measures.achieved_ratio = Mean(ratios);
  return measures;
}

void SetSecondsPerIteration(double seconds, RunRecords* run) {
  for (IterationRow& row : run->iterations) {
    row.seconds = seconds * row.iteration;
  }
}

absl::Status CheckLinkBytes(const RunRecords& run, int64_t link_bytes,
                            bool workers_drift) {
  if (run.iterations.empty()) {
    return absl::DataLossError("the run ended before its first iteration");
  }
  const IterationRow& last = run.iterations.back();
  const double message_bytes = last.bytes_up + last.bytes_down;
  const double allowed =
      (workers_drift ? 1.1 : 1) * static_cast<double>(link_bytes);
  if (message_bytes <= allowed) {
    return absl::OkStatus();
  }
  return absl::InternalError(absl::StrFormat(
      "the run's messages had %.0f bytes, but only %d went over the links: "
      "workers and servers reach each other in another way, and the times are "
      "not this network's",
      message_bytes, link_bytes));
}

}  // namespace ps
