#include "tools/report/run_table.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/metric.h"
#include "tools/command_line/human_format.h"
#include "tools/report/exchange_times.h"
#include "tools/report/html_page.h"

namespace ps {
namespace {

std::string Percent(double share, int digits) {
  if (!std::isfinite(share)) return kMissing;
  return absl::StrFormat("%.*f %%", digits, 100 * share);
}

std::string Plain(double value, int digits) {
  if (!std::isfinite(value)) return kMissing;
  return absl::StrFormat("%.*g", digits, value);
}

std::string Count(double count) {
  if (!std::isfinite(count)) return kMissing;
  return FormatCount(static_cast<int64_t>(count));
}

std::string Milliseconds(double seconds) {
  if (!std::isfinite(seconds)) return kMissing;
  return absl::StrFormat("%.1f ms", 1e3 * seconds);
}

// What a cell says, and in small letters what that is.
struct Cell {
  std::string value;
  std::string note;
};

struct Column {
  const char* name;
  std::function<Cell(const RunRecords& run)> cell;
};

Cell Traffic(double bytes, double dense) {
  if (!std::isfinite(bytes)) return {kMissing, ""};
  const std::string text = FormatBytes(static_cast<int64_t>(bytes));
  if (!std::isfinite(bytes / dense)) return {text, ""};
  return {text, Percent(bytes / dense, 2) + " of dense"};
}

std::string CompressorText(const RunRecords& run) {
  std::string text = run.compressor;
  if (!run.value_code.empty()) absl::StrAppend(&text, ", ", run.value_code);
  if (std::isfinite(run.target_ratio)) {
    absl::StrAppend(&text, ", ratio ", run.target_ratio);
  }
  return text;
}

// The columns of the main table after the label.
std::vector<Column> MainColumns() {
  return {
      {"model",
       [](const RunRecords& run) {
         return Cell{run.model, CompressorText(run)};
       }},
      {"result",
       [](const RunRecords& run) {
         return Cell{LastResult(run),
                     run.evaluations.empty() ? "" : MetricWords(run.metric)};
       }},
      {"time",
       [](const RunRecords& run) {
         return std::isfinite(run.seconds)
                    ? Cell{FormatTimeSpan(absl::Seconds(run.seconds)),
                           IterationsText(run) + " iterations"}
                    : Cell{kMissing, ""};
       }},
      {"bytes up",
       [](const RunRecords& run) {
         return Traffic(run.bytes_up, run.dense_bytes_up);
       }},
      {"bytes down",
       [](const RunRecords& run) {
         return Traffic(run.bytes_down, run.dense_bytes_down);
       }},
  };
}

// A time of worker 0 in an iteration.
Column PhaseColumn(const char* name, double ExchangeTimes::*part) {
  return {name, [part](const RunRecords& run) {
            return Cell{Milliseconds(MeasureExchange(run).*part), ""};
          }};
}

Column TextColumn(const char* name,
                  std::string (*text)(const RunRecords& run)) {
  return {name, [text](const RunRecords& run) { return Cell{text(run), ""}; }};
}

std::vector<Column> DetailColumns() {
  return {
      TextColumn("job", [](const RunRecords& run) { return run.job; }),
      TextColumn("directory",
                 [](const RunRecords& run) { return run.directory; }),
      TextColumn(
          "parameters",
          [](const RunRecords& run) { return Count(run.num_parameters); }),
      TextColumn("workers × servers",
                 [](const RunRecords& run) {
                   return absl::StrCat(Plain(run.num_workers, 6), " × ",
                                       Plain(run.num_servers, 6));
                 }),
      TextColumn("iterations", IterationsText),
      TextColumn("last training loss",
                 [](const RunRecords& run) {
                   return run.iterations.empty()
                              ? kMissing
                              : Plain(run.iterations.back().training_loss, 4);
                 }),
      TextColumn("samples a second",
                 [](const RunRecords& run) {
                   return Count(std::round(run.samples_per_second));
                 }),
      TextColumn("seconds",
                 [](const RunRecords& run) {
                   return std::isfinite(run.seconds)
                              ? absl::StrFormat("%.1f", run.seconds)
                              : kMissing;
                 }),
      PhaseColumn("an iteration", &ExchangeTimes::iteration),
      PhaseColumn("computing", &ExchangeTimes::compute),
      PhaseColumn("compressing", &ExchangeTimes::compress),
      PhaseColumn("applying", &ExchangeTimes::apply),
      PhaseColumn("waiting", &ExchangeTimes::await),
      TextColumn("communication hidden",
                 [](const RunRecords& run) {
                   return Percent(MeasureExchange(run).HiddenShare(), 0);
                 }),
      TextColumn(
          "target ratio",
          [](const RunRecords& run) { return Plain(run.target_ratio, 4); }),
      TextColumn(
          "achieved ratio",
          [](const RunRecords& run) { return Plain(run.achieved_ratio, 4); }),
      TextColumn("achieved / target",
                 [](const RunRecords& run) {
                   const RatioQuality quality = MeasureRatioQuality(run);
                   return quality.iterations == 0
                              ? kMissing
                              : absl::StrFormat("%.3f", quality.mean);
                 }),
      TextColumn("within 20 %",
                 [](const RunRecords& run) {
                   const RatioQuality quality = MeasureRatioQuality(run);
                   return quality.iterations == 0
                              ? kMissing
                              : Percent(quality.share_within_20, 1);
                 }),
      // The rest was sent whole.
      TextColumn("compressed by auto",
                 [](const RunRecords& run) {
                   return Percent(run.compressed_share, 1);
                 }),
  };
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

std::string LastResult(const RunRecords& run) {
  if (run.evaluations.empty() || !std::isfinite(run.evaluations.back().value)) {
    return kMissing;
  }
  return FormatMetric(run.metric, run.evaluations.back().value);
}

std::string LastEvaluation(const RunRecords& run) {
  const std::string result = LastResult(run);
  if (result == kMissing) return result;
  return absl::StrCat(MetricWords(absl::StripPrefix(run.metric, "test_")), " ",
                      result);
}

std::string IterationsText(const RunRecords& run) {
  // With local steps a record covers several iterations.
  const double last =
      run.iterations.empty() ? 0 : run.iterations.back().iteration;
  const double done =
      std::isfinite(last) ? last : static_cast<double>(run.iterations.size());
  const std::string text = Count(done);
  if (done >= run.total_iterations || !std::isfinite(run.total_iterations)) {
    return text;
  }
  return absl::StrCat(text, " of ", Count(run.total_iterations));
}

std::string MainTable(const std::vector<RunRecords>& runs) {
  const std::vector<std::string> labels = RunLabels(runs);
  const std::vector<Column> columns = MainColumns();
  std::string html = "<table class='runs'><tr><th>run</th>";
  for (const Column& column : columns) {
    absl::StrAppend(&html, "<th>", EscapeMarkup(column.name), "</th>");
  }
  html += "</tr>\n";
  for (size_t i = 0; i < runs.size(); ++i) {
    absl::StrAppend(&html, "<tr><td>", EscapeMarkup(labels[i]), "</td>");
    for (const Column& column : columns) {
      const Cell cell = column.cell(runs[i]);
      absl::StrAppend(&html, "<td data-name='", EscapeMarkup(column.name), "'>",
                      EscapeMarkup(cell.value));
      if (!cell.note.empty()) {
        absl::StrAppend(&html, "<small>", EscapeMarkup(cell.note), "</small>");
      }
      html += "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

std::string DetailTable(const std::vector<RunRecords>& runs) {
  std::string html = "<div class='scroll'><table class='details'><tr><th></th>";
  for (const std::string& label : RunLabels(runs)) {
    absl::StrAppend(&html, "<th>", EscapeMarkup(label), "</th>");
  }
  html += "</tr>\n";
  for (const Column& column : DetailColumns()) {
    absl::StrAppend(&html, "<tr><th>", EscapeMarkup(column.name), "</th>");
    for (const RunRecords& run : runs) {
      absl::StrAppend(&html, "<td>", EscapeMarkup(column.cell(run).value),
                      "</td>");
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string MarkdownReport(const std::vector<RunRecords>& runs) {
  const std::vector<std::string> labels = RunLabels(runs);
  std::vector<Column> columns = MainColumns();
  for (Column& column : DetailColumns()) columns.push_back(std::move(column));
  std::string head = "| run |";
  std::string rule = "|---|";
  for (const Column& column : columns) {
    absl::StrAppend(&head, " ", column.name, " |");
    rule += "---:|";
  }
  std::string table = absl::StrCat(head, "\n", rule, "\n");
  for (size_t i = 0; i < runs.size(); ++i) {
    std::vector<std::string> cells = {labels[i]};
    for (const Column& column : columns) {
      const Cell cell = column.cell(runs[i]);
      cells.push_back(cell.note.empty()
                          ? cell.value
                          : absl::StrCat(cell.value, " (", cell.note, ")"));
    }
    for (std::string& cell : cells) {
      cell = absl::StrReplaceAll(cell, {{"|", "\\|"}, {"\n", " "}});
    }
    absl::StrAppend(&table, "| ", absl::StrJoin(cells, " | "), " |\n");
  }
  return table;
}

}  // namespace ps
