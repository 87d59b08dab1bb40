#include "tools/report/evaluation_plots.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/metric.h"
#include "tools/report/against.h"

namespace ps {
namespace {

std::vector<std::string> MetricsOf(const std::vector<RunRecords>& runs) {
  std::vector<std::string> metrics;
  for (const RunRecords& run : runs) {
    if (run.evaluations.empty() || std::find(metrics.begin(), metrics.end(),
                                             run.metric) != metrics.end()) {
      continue;
    }
    metrics.push_back(run.metric);
  }
  return metrics;
}

std::string Capitalised(std::string words) {
  if (!words.empty()) words[0] = static_cast<char>(std::toupper(words[0]));
  return words;
}

}  // namespace

std::vector<Plot> EvaluationPlots(const std::vector<RunRecords>& runs,
                                  const std::vector<PlotSeries>& series) {
  std::vector<Plot> plots;
  for (const std::string& metric : MetricsOf(runs)) {
    const bool in_percent = IsFraction(metric);
    for (const Against against : kAllAgainst) {
      Plot plot;
      plot.title = Capitalised(MetricWords(metric));
      NameAxis(against, &plot);
      plot.y_label = absl::StrCat(MetricWords(metric), in_percent ? ", %" : "");
      for (size_t i = 0; i < runs.size(); ++i) {
        if (runs[i].metric != metric || runs[i].evaluations.empty()) continue;
        PlotSeries points = series[i];
        points.markers = true;
        for (const EvaluationRow& row : runs[i].evaluations) {
          points.points.push_back({PlaceOf(row, against),
                                   in_percent ? 100 * row.value : row.value});
        }
        plot.series.push_back(std::move(points));
      }
      plots.push_back(std::move(plot));
    }
  }
  return plots;
}

std::string LastEvaluation(const RunRecords& run) {
  if (run.evaluations.empty() || !std::isfinite(run.evaluations.back().value)) {
    return "–";
  }
  return absl::StrCat(MetricWords(absl::StripPrefix(run.metric, "test_")), " ",
                      FormatMetric(run.metric, run.evaluations.back().value));
}

}  // namespace ps
