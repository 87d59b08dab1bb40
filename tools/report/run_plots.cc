#include "tools/report/run_plots.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "tools/report/against.h"
#include "tools/report/evaluation_plots.h"
#include "tools/report/run_table.h"

namespace ps {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Lines without points. Each has other dashes than the one before, so that it
// shows what it covers.
std::vector<PlotSeries> SeriesOf(const std::vector<RunRecords>& runs) {
  std::vector<PlotSeries> all;
  for (const std::string& label : RunLabels(runs)) {
    const int i = static_cast<int>(all.size());
    PlotSeries& series = all.emplace_back();
    series.label = label;
    series.color = i % kNumPlotColors;
    series.dash = (i + i / kNumPlotColors) % kNumPlotDashes;
  }
  return all;
}

// For values that all grow from near zero, so that only their ends count.
PlotScale ScaleByLastValues(const Plot& plot) {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  for (const PlotSeries& series : plot.series) {
    low = std::min(low, series.points.back().y);
    high = std::max(high, series.points.back().y);
  }
  return low > 0 && high > kLogarithmicSpan * low ? PlotScale::kLogarithmic
                                                  : PlotScale::kLinear;
}

using RowValue =
    std::function<std::optional<double>(const RunRecords&, size_t row)>;

// One line for each run. Records without a value are skipped; a NaN leaves a
// gap.
Plot LinesAgainst(Against against, const std::vector<RunRecords>& runs,
                  const RowValue& value) {
  Plot plot;
  const std::vector<PlotSeries> lines = SeriesOf(runs);
  for (size_t i = 0; i < runs.size(); ++i) {
    PlotSeries series = lines[i];
    bool any = false;
    for (size_t row = 0; row < runs[i].iterations.size(); ++row) {
      const std::optional<double> y = value(runs[i], row);
      if (!y.has_value()) continue;
      series.points.push_back({PlaceOf(runs[i].iterations[row], against), *y});
      any = any || std::isfinite(*y);
    }
    if (any) plot.series.push_back(std::move(series));
  }
  return plot;
}

Plot ByIteration(const std::vector<RunRecords>& runs, const RowValue& value) {
  Plot plot = LinesAgainst(Against::kIterations, runs, value);
  NameAxis(Against::kIterations, &plot);
  return plot;
}

// The same, of one field of the records.
Plot FieldByIteration(const std::vector<RunRecords>& runs,
                      double IterationRow::*field) {
  return ByIteration(runs, [field](const RunRecords& run, size_t row) {
    return run.iterations[row].*field;
  });
}

Plot ThroughputPlot(const std::vector<RunRecords>& runs) {
  Plot plot = ByIteration(runs, [](const RunRecords& run, size_t row) {
    if (row == 0) return std::optional<double>();
    const IterationRow& now = run.iterations[row];
    const IterationRow& before = run.iterations[row - 1];
    const double seconds = now.seconds - before.seconds;
    return std::optional<double>(
        seconds > 0 ? (now.samples - before.samples) / seconds : kNaN);
  });
  plot.title = "Throughput";
  plot.y_label = "samples a second, all workers";
  plot.y_scale = PlotScale::kAutomatic;
  return plot;
}

Plot BytesPlot(const std::vector<RunRecords>& runs, const char* title,
               double IterationRow::*bytes) {
  Plot plot = FieldByIteration(runs, bytes);
  plot.title = title;
  plot.y_label = "bytes since the start, all workers";
  plot.y_unit = AxisUnit::kBytes;
  plot.y_scale = ScaleByLastValues(plot);
  return plot;
}

Plot RatioPlot(const std::vector<RunRecords>& runs) {
  Plot plot = ByIteration(runs, [](const RunRecords& run, size_t row) {
    const IterationRow& now = run.iterations[row];
    return std::isfinite(run.target_ratio)
               ? std::optional<double>(now.count / now.target_count)
               : std::nullopt;
  });
  plot.title = "Achieved over target ratio";
  plot.y_label = "elements sent / target";
  plot.y_scale = PlotScale::kAutomatic;
  plot.band = {0.8, 1.2, "within 20 %"};
  return plot;
}

Plot SharePlot(const std::vector<RunRecords>& runs) {
  Plot plot = ByIteration(runs, [](const RunRecords& run, size_t row) {
    return run.iterations[row].compressed_share;
  });
  plot.title = "What \"auto\" compresses";
  plot.y_label = "share of the elements";
  return plot;
}

Plot StagesPlot(const std::vector<RunRecords>& runs) {
  Plot plot = ByIteration(runs, [](const RunRecords& run, size_t row) {
    const double stages = run.iterations[row].stages;
    return stages > 0 ? stages : kNaN;
  });
  plot.title = "Estimation stages";
  plot.y_label = "stages";
  plot.whole_y = true;
  return plot;
}

Plot ResidualPlot(const std::vector<RunRecords>& runs) {
  Plot plot = ByIteration(runs, [](const RunRecords& run, size_t row) {
    const std::optional<double> norm = run.iterations[row].residual_norm;
    // A norm of 0, without a residual, cannot be shown on a logarithmic axis.
    return norm == 0.0 ? kNaN : norm;
  });
  plot.title = "What is kept back";
  plot.y_label = "Euclidean norm of the residual";
  plot.y_scale = PlotScale::kLogarithmic;
  return plot;
}

}  // namespace

std::vector<std::vector<Plot>> ResultPlots(
    const std::vector<RunRecords>& runs) {
  std::vector<std::vector<Plot>> plots = EvaluationPlots(runs, SeriesOf(runs));
  std::vector<Plot>& losses = plots.emplace_back();
  for (const Against against : kAllAgainst) {
    Plot loss =
        LinesAgainst(against, runs, [](const RunRecords& run, size_t row) {
          return run.iterations[row].training_loss;
        });
    loss.title = "Training loss";
    NameAxis(against, &loss);
    loss.y_label = "loss";
    loss.y_scale = PlotScale::kAutomatic;
    losses.push_back(std::move(loss));
  }
  return plots;
}

std::vector<Plot> ExchangePlots(const std::vector<RunRecords>& runs) {
  return {ThroughputPlot(runs),
          BytesPlot(runs, "Bytes up", &IterationRow::bytes_up),
          BytesPlot(runs, "Bytes down", &IterationRow::bytes_down),
          RatioPlot(runs),
          SharePlot(runs),
          StagesPlot(runs),
          ResidualPlot(runs)};
}

std::vector<Plot> ReportPlots(const std::vector<RunRecords>& runs) {
  std::vector<Plot> plots;
  for (const std::vector<Plot>& views : ResultPlots(runs)) {
    plots.insert(plots.end(), views.begin(), views.end());
  }
  for (Plot& plot : ExchangePlots(runs)) plots.push_back(std::move(plot));
  return plots;
}

}  // namespace ps
