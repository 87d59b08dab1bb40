#include "tools/report/html_report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "tools/human_format.h"
#include "tools/report/against.h"
#include "tools/report/evaluation_plots.h"
#include "tools/report/exchange_times.h"

namespace ps {
namespace {

constexpr char kPageStyle[] = R"css(
body { margin: 0 auto; padding: 28px 24px 60px; max-width: 1340px;
  background: var(--ground); color: var(--text);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 24px; margin: 0 0 16px; }
.table { overflow-x: auto; margin-bottom: 24px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 6px 14px 6px 0; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--grid); }
th { color: var(--faint); font-weight: 600; }
th.text, td.text { text-align: left; }
.plots { display: grid; gap: 20px;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 520px), 1fr)); }
)css";

constexpr char kMissing[] = "–";

constexpr size_t kMostJobsInTitle = 3;

std::string Percent(double share, int digits) {
  if (!std::isfinite(share)) return kMissing;
  return absl::StrFormat("%.*f %%", digits, 100 * share);
}

std::string Bytes(double bytes) {
  if (!std::isfinite(bytes)) return kMissing;
  return FormatBytes(static_cast<int64_t>(bytes));
}

std::string Plain(double value, int digits) {
  if (!std::isfinite(value)) return kMissing;
  return absl::StrFormat("%.*g", digits, value);
}

std::string Count(double count) {
  if (!std::isfinite(count)) return kMissing;
  return FormatCount(static_cast<int64_t>(count));
}

struct Column {
  const char* name;
  bool is_text;
  std::function<std::string(const RunRecords& run)> cell;
};

// The run's last value of this kind.
double LastBytesUp(const RunRecords& run) {
  if (run.iterations.empty()) return std::numeric_limits<double>::quiet_NaN();
  return run.iterations.back().bytes_up;
}

std::string Traffic(double bytes, double dense) {
  if (!std::isfinite(bytes / dense)) return Bytes(bytes);
  return absl::StrCat(Bytes(bytes), " (", Percent(bytes / dense, 2), ")");
}

std::string Iterations(const RunRecords& run) {
  // With local steps a record covers several iterations.
  const double last =
      run.iterations.empty() ? 0 : run.iterations.back().iteration;
  const double done =
      std::isfinite(last) ? last : static_cast<double>(run.iterations.size());
  const std::string text = FormatCount(static_cast<int64_t>(done));
  if (done >= run.total_iterations || !std::isfinite(run.total_iterations)) {
    return text;
  }
  return absl::StrCat(text, " of ",
                      FormatCount(static_cast<int64_t>(run.total_iterations)));
}

std::vector<Column> Columns() {
  return {
      {"job", true, [](const RunRecords& run) { return run.job; }},
      {"model", true,
       [](const RunRecords& run) {
         return absl::StrCat(run.model, ", ", Count(run.num_parameters),
                             " parameters");
       }},
      {"workers × servers", false,
       [](const RunRecords& run) {
         return absl::StrCat(Plain(run.num_workers, 6), " × ",
                             Plain(run.num_servers, 6));
       }},
      {"compressor", true,
       [](const RunRecords& run) {
         return run.value_code.empty()
                    ? run.compressor
                    : absl::StrCat(run.compressor, ", ", run.value_code);
       }},
      {"target", false,
       [](const RunRecords& run) { return Plain(run.target_ratio, 4); }},
      {"achieved ratio", false,
       [](const RunRecords& run) { return Plain(run.achieved_ratio, 4); }},
      {"achieved / target", false,
       [](const RunRecords& run) {
         const RatioQuality quality = MeasureRatioQuality(run);
         return quality.iterations == 0 ? kMissing
                                        : absl::StrFormat("%.3f", quality.mean);
       }},
      {"within 20 %", false,
       [](const RunRecords& run) {
         const RatioQuality quality = MeasureRatioQuality(run);
         return quality.iterations == 0 ? kMissing
                                        : Percent(quality.share_within_20, 1);
       }},
      {"last test", false,
       [](const RunRecords& run) { return LastEvaluation(run); }},
      {"bytes up (of dense)", false,
       [](const RunRecords& run) {
         return Traffic(LastBytesUp(run), run.dense_bytes_up);
       }},
      {"bytes down (of dense)", false,
       [](const RunRecords& run) {
         return Traffic(run.bytes_down, run.dense_bytes_down);
       }},
      {"ms an iteration: computing + compressing + applying + waiting", false,
       [](const RunRecords& run) {
         const ExchangeTimes times = MeasureExchange(run);
         if (!std::isfinite(times.iteration)) return std::string(kMissing);
         return absl::StrFormat("%.1f: %.1f + %.1f + %.1f + %.1f",
                                1e3 * times.iteration, 1e3 * times.compute,
                                1e3 * times.compress, 1e3 * times.apply,
                                1e3 * times.await);
       }},
      {"communication hidden", false,
       [](const RunRecords& run) {
         const double share = MeasureExchange(run).HiddenShare();
         return std::isfinite(share) ? Percent(share, 0) : kMissing;
       }},
      // The rest was sent whole.
      {"compressed by auto", false,
       [](const RunRecords& run) { return Percent(run.compressed_share, 1); }},
      {"iterations", false, Iterations},
      {"seconds", false,
       [](const RunRecords& run) {
         return std::isfinite(run.seconds)
                    ? absl::StrFormat("%.1f", run.seconds)
                    : kMissing;
       }},
  };
}

std::string Table(const std::vector<RunRecords>& runs,
                  const std::vector<std::string>& labels) {
  const std::vector<Column> columns = Columns();
  std::string html = "<div class='table'><table><tr><th class='text'>run</th>";
  for (const Column& column : columns) {
    absl::StrAppend(&html, column.is_text ? "<th class='text'>" : "<th>",
                    EscapeMarkup(column.name), "</th>");
  }
  html += "</tr>\n";
  for (size_t i = 0; i < runs.size(); ++i) {
    absl::StrAppend(&html, "<tr><td class='text'>", EscapeMarkup(labels[i]),
                    "</td>");
    for (const Column& column : columns) {
      absl::StrAppend(&html, column.is_text ? "<td class='text'>" : "<td>",
                      EscapeMarkup(column.cell(runs[i])), "</td>");
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

// A line for run i, without points. When colours repeat, the dashes change.
PlotSeries SeriesOf(const std::vector<std::string>& labels, size_t i) {
  PlotSeries series;
  series.label = labels[i];
  series.color = static_cast<int>(i) % kNumPlotColors;
  series.dash = static_cast<int>(i) / kNumPlotColors % kNumPlotDashes;
  return series;
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

using RowValue = std::function<std::optional<double>(const RunRecords&,
                                                     const IterationRow&)>;

// One line for each run. Iterations without a value are skipped; a NaN leaves a
// gap.
Plot LinesAgainst(Against against, const std::vector<RunRecords>& runs,
                  const std::vector<std::string>& labels,
                  const RowValue& value) {
  Plot plot;
  for (size_t i = 0; i < runs.size(); ++i) {
    PlotSeries series = SeriesOf(labels, i);
    bool any = false;
    for (const IterationRow& row : runs[i].iterations) {
      const std::optional<double> y = value(runs[i], row);
      if (!y.has_value()) continue;
      series.points.push_back({PlaceOf(row, against), *y});
      any = any || std::isfinite(*y);
    }
    if (any) plot.series.push_back(std::move(series));
  }
  return plot;
}

Plot ByIteration(const std::vector<RunRecords>& runs,
                 const std::vector<std::string>& labels,
                 const RowValue& value) {
  Plot plot = LinesAgainst(Against::kIterations, runs, labels, value);
  NameAxis(Against::kIterations, &plot);
  return plot;
}

std::vector<Plot> PlotsOf(const std::vector<RunRecords>& runs,
                          const std::vector<std::string>& labels) {
  std::vector<Plot> plots;
  Plot ratio = ByIteration(
      runs, labels, [](const RunRecords& run, const IterationRow& row) {
        return std::isfinite(run.target_ratio)
                   ? std::optional<double>(row.count / row.target_count)
                   : std::nullopt;
      });
  ratio.title = "Achieved over target ratio";
  ratio.y_label = "elements sent / target";
  ratio.y_scale = PlotScale::kAutomatic;
  ratio.band = {0.8, 1.2, "within 20 %"};
  plots.push_back(ratio);

  Plot share =
      ByIteration(runs, labels, [](const RunRecords&, const IterationRow& row) {
        return row.compressed_share;
      });
  share.title = "What \"auto\" compresses";
  share.y_label = "share of the elements";
  plots.push_back(share);

  Plot stages =
      ByIteration(runs, labels, [](const RunRecords&, const IterationRow& row) {
        return row.stages > 0 ? row.stages
                              : std::numeric_limits<double>::quiet_NaN();
      });
  stages.title = "Estimation stages";
  stages.y_label = "stages";
  stages.whole_y = true;
  plots.push_back(stages);

  Plot residual =
      ByIteration(runs, labels, [](const RunRecords&, const IterationRow& row) {
        // A norm of 0, without a residual, cannot be shown on a logarithmic
        // axis.
        return row.residual_norm == 0.0
                   ? std::numeric_limits<double>::quiet_NaN()
                   : row.residual_norm;
      });
  residual.title = "What is kept back";
  residual.y_label = "Euclidean norm of the residual";
  residual.y_scale = PlotScale::kLogarithmic;
  plots.push_back(residual);

  for (const Against against : kAllAgainst) {
    Plot loss = LinesAgainst(against, runs, labels,
                             [](const RunRecords&, const IterationRow& row) {
                               return row.training_loss;
                             });
    loss.title = "Training loss";
    NameAxis(against, &loss);
    loss.y_label = "loss";
    loss.y_scale = PlotScale::kAutomatic;
    plots.push_back(loss);
  }

  std::vector<PlotSeries> series;
  for (size_t i = 0; i < runs.size(); ++i) {
    series.push_back(SeriesOf(labels, i));
  }
  for (Plot& plot : EvaluationPlots(runs, series)) {
    plots.push_back(std::move(plot));
  }

  Plot bytes =
      ByIteration(runs, labels, [](const RunRecords&, const IterationRow& row) {
        return row.bytes_up / 1e6;
      });
  bytes.title = "Sent by all workers since the start";
  bytes.y_label = "MB";
  bytes.y_scale = ScaleByLastValues(bytes);
  plots.push_back(bytes);
  return plots;
}

bool AllDiffer(const std::vector<std::string>& labels) {
  return std::set<std::string>(labels.begin(), labels.end()).size() ==
         labels.size();
}

}  // namespace

std::vector<std::string> RunLabels(const std::vector<RunRecords>& runs) {
  std::vector<std::string> labels;
  for (const RunRecords& run : runs) labels.push_back(run.job);
  if (runs.size() > 1 && AllDiffer(labels)) return labels;
  labels.clear();
  for (const RunRecords& run : runs) {
    std::string label = run.compressor;
    if (!run.value_code.empty() && run.value_code != "fp32") {
      absl::StrAppend(&label, " + ", run.value_code);
    }
    if (std::isfinite(run.target_ratio)) {
      absl::StrAppend(&label, " ", run.target_ratio);
    }
    labels.push_back(label);
  }
  if (AllDiffer(labels)) return labels;
  labels.clear();
  for (const RunRecords& run : runs) labels.push_back(run.directory);
  return labels;
}

std::vector<Plot> ReportPlots(const std::vector<RunRecords>& runs) {
  return PlotsOf(runs, RunLabels(runs));
}

std::string HtmlReport(const std::vector<RunRecords>& runs,
                       const std::vector<Plot>& more) {
  const std::vector<std::string> labels = RunLabels(runs);
  std::set<std::string> jobs;
  for (const RunRecords& run : runs) jobs.insert(run.job);
  const std::string title = jobs.size() > kMostJobsInTitle
                                ? absl::StrCat(runs.size(), " runs")
                                : EscapeMarkup(absl::StrJoin(jobs, ", "));
  std::string html = absl::StrCat(
      "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>\n"
      "<meta name='viewport' content='width=device-width'>\n<title>",
      title, " – gradsieve report</title>\n<style>", kPlotStyle, kPageStyle,
      "</style></head>\n<body><h1>", title, "</h1>\n", Table(runs, labels),
      "<div class='plots'>\n");
  for (const Plot& plot : PlotsOf(runs, labels)) html += DrawPlot(plot);
  for (const Plot& plot : more) html += DrawPlot(plot);
  absl::StrAppend(
      &html,
      "</div>\n<p class='note'>Ratios, stages, residuals and times are worker "
      "0's; communication is hidden while that worker computes. In the table "
      "they leave out the first ",
      kSettlingIterations,
      " iterations. Long runs are drawn as means of neighbouring iterations on "
      "a pale stripe from the smallest to the largest of them; more than ",
      kMostStripes,
      " lines have no stripes.</p>\n"
      "</body></html>\n");
  return html;
}

std::string MarkdownReport(const std::vector<RunRecords>& runs) {
  const std::vector<std::string> labels = RunLabels(runs);
  const std::vector<Column> columns = Columns();
  std::string head = "| run |";
  std::string rule = "|---|";
  for (const Column& column : columns) {
    absl::StrAppend(&head, " ", column.name, " |");
    rule += column.is_text ? "---|" : "---:|";
  }
  std::string table = absl::StrCat(head, "\n", rule, "\n");
  for (size_t i = 0; i < runs.size(); ++i) {
    std::vector<std::string> cells = {labels[i]};
    for (const Column& column : columns) cells.push_back(column.cell(runs[i]));
    for (std::string& cell : cells) {
      cell = absl::StrReplaceAll(cell, {{"|", "\\|"}, {"\n", " "}});
    }
    absl::StrAppend(&table, "| ", absl::StrJoin(cells, " | "), " |\n");
  }
  return table;
}

}  // namespace ps
