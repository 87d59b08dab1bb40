#include "tools/report/evaluation_plots.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <utility>

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

// One measure of the evaluations, of the runs that have it.
struct Measure {
  std::string words;  // "test accuracy"
  double factor = 1;  // 100 for values that are shown as percentages.
  double EvaluationRow::*value = nullptr;
  std::function<bool(const RunRecords&)> has;
};

std::vector<Plot> ViewsOf(const Measure& measure,
                          const std::vector<RunRecords>& runs,
                          const std::vector<PlotSeries>& series) {
  std::vector<Plot> views;
  for (const Against against : kAllAgainst) {
    Plot plot;
    plot.title = Capitalised(measure.words);
    NameAxis(against, &plot);
    plot.y_label = measure.words;
    if (measure.factor == 100) plot.y_label += ", %";
    for (size_t i = 0; i < runs.size(); ++i) {
      if (runs[i].evaluations.empty() || !measure.has(runs[i])) continue;
      PlotSeries points = series[i];
      points.markers = true;
      for (const EvaluationRow& row : runs[i].evaluations) {
        points.points.push_back(
            {PlaceOf(row, against), measure.factor * row.*measure.value});
      }
      plot.series.push_back(std::move(points));
    }
    views.push_back(std::move(plot));
  }
  return views;
}

}  // namespace

std::vector<std::vector<Plot>> EvaluationPlots(
    const std::vector<RunRecords>& runs,
    const std::vector<PlotSeries>& series) {
  std::vector<std::vector<Plot>> plots;
  Measure measure;
  for (const std::string& metric : MetricsOf(runs)) {
    measure.words = MetricWords(metric);
    measure.factor = IsFraction(metric) ? 100 : 1;
    measure.value = &EvaluationRow::value;
    measure.has = [&metric](const RunRecords& run) {
      return run.metric == metric;
    };
    plots.push_back(ViewsOf(measure, runs, series));
  }
  measure = {"test loss", 1, &EvaluationRow::loss,
             [](const RunRecords&) { return true; }};
  plots.push_back(ViewsOf(measure, runs, series));
  return plots;
}

}  // namespace ps
