#include "tools/bench/network/comparison.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tools/bench/network/bandwidth.h"

namespace ps {

double LinkSeconds(const NetworkComparison& comparison,
                   const ComparedRun& run) {
  // Both directions use the links of the workers and those of the servers
  // evenly. Each link carries more on the side that has fewer.
  const double links =
      std::min(run.records.num_workers, run.records.num_servers);
  return 8 / links *
         std::max(run.measures.bytes_up / comparison.measured_up,
                  run.measures.bytes_down / comparison.measured_down);
}

double SpeedUp(const NetworkComparison& comparison, const ComparedRun& run) {
  return comparison.runs.front().measures.mean / run.measures.mean;
}

double SecondsToTarget(const ComparedRun& run) {
  return run.measures.target.has_value() ? run.measures.target->seconds
                                         : RunMeasures::kUnknown;
}

double TargetSpeedUp(const NetworkComparison& comparison,
                     const ComparedRun& run) {
  return SecondsToTarget(comparison.runs.front()) / SecondsToTarget(run);
}

const RunRecords& AnyRecords(const NetworkComparison& comparison) {
  for (const ComparedRun& run : comparison.runs) {
    if (!run.records.model.empty()) return run.records;
  }
  return comparison.runs.front().records;
}

Plot ComparisonPlot(const NetworkComparison& comparison) {
  Plot plot;
  plot.title = absl::StrCat(
      comparison.job, " at ",
      FormatBandwidth(static_cast<double>(comparison.bits_per_second)));
  plot.x_label = "seconds of training";
  plot.y_label = absl::StrCat("training loss, mean of ",
                              comparison.options.smoothing, " iterations");
  plot.x_from_zero = true;
  plot.y_scale = PlotScale::kAutomatic;
  double end = 0;
  for (size_t i = 0; i < comparison.runs.size(); ++i) {
    const ComparedRun& run = comparison.runs[i];
    PlotSeries series;
    series.label = run.setting;
    series.color = static_cast<int>(i) % kNumPlotColors;
    series.dash = static_cast<int>(i) / kNumPlotColors;
    const std::vector<double> loss =
        SmoothedLoss(run.records, comparison.options.smoothing);
    for (size_t j = 0; j < loss.size(); ++j) {
      if (!std::isfinite(loss[j])) continue;
      series.points.push_back({run.records.iterations[j].seconds, loss[j]});
      end = std::max(end, series.points.back().x);
    }
    plot.series.push_back(series);
  }
  if (comparison.options.target_loss.has_value()) {
    PlotSeries target;
    target.label = absl::StrCat("target ", *comparison.options.target_loss);
    target.points = {{0, *comparison.options.target_loss},
                     {end, *comparison.options.target_loss}};
    target.color = kNumPlotColors - 1;
    target.dash = 1;
    plot.series.push_back(target);
  }
  return plot;
}

}  // namespace ps
