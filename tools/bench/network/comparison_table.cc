#include "tools/bench/network/comparison_table.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/bench/network/bandwidth.h"
#include "tools/command_line/human_format.h"
#include "tools/report/run_table.h"
#include "tools/report/text_table.h"

namespace ps {
namespace {

constexpr char kMissing[] = "–";

std::string Number(double value, const char* unit = "") {
  return std::isfinite(value) ? absl::StrCat(FormatNumber(value), unit)
                              : kMissing;
}

std::string Milliseconds(double seconds) { return Number(1e3 * seconds); }

std::string Bytes(double bytes) {
  if (!std::isfinite(bytes)) return kMissing;
  return FormatBytes(static_cast<int64_t>(std::round(bytes)));
}

// "1 server", "235,146 parameters".
std::string CountedCell(double count, const char* what) {
  if (!std::isfinite(count)) return absl::StrCat(kMissing, " ", what, "s");
  return Counted(static_cast<int64_t>(count), what);
}

std::string Heading(const NetworkComparison& comparison) {
  const RunRecords& first = AnyRecords(comparison);
  std::string text = comparison.job;
  if (!first.model.empty()) {
    absl::StrAppend(&text, ": ", first.model, " with ",
                    CountedCell(first.num_parameters, "parameter"), ", ",
                    CountedCell(first.num_workers, "worker"), ", ",
                    CountedCell(first.num_servers, "server"));
  }
  absl::StrAppend(
      &text, "\neach host's link ",
      FormatBandwidth(static_cast<double>(comparison.bits_per_second)),
      " each way; measured for one TCP connection's bytes: ",
      FormatBandwidth(comparison.measured_up), " up, ",
      FormatBandwidth(comparison.measured_down), " down\n");
  return text;
}

std::string Legend(const NetworkComparison& comparison) {
  std::string text = absl::StrCat(
      "ms: mean of ",
      comparison.timed_iterations > 0
          ? absl::StrCat(comparison.timed_iterations,
                         " iterations at this bandwidth, after ")
          : "an iteration, without the first ",
      comparison.options.warm_up,
      "; ±: standard deviation. speed-up: over the first row.\n"
      "link ms: what its messages take on the busiest link at the measured "
      "bandwidth, up or down.\n"
      "up, down: bytes of its messages, all workers together. ratio: elements "
      "sent over elements.\n");
  if (comparison.options.target_loss.has_value()) {
    absl::StrAppend(&text, "to loss: time of training until the mean loss of ",
                    comparison.options.smoothing, " iterations was at most ",
                    *comparison.options.target_loss,
                    comparison.timed_iterations > 0
                        ? ": the number of iterations to it times ms"
                        : "",
                    ".\n");
  }
  return text;
}

TextTable MainTable(const NetworkComparison& comparison) {
  const std::optional<double> target = comparison.options.target_loss;
  TextTable table;
  table.push_back({"", "iterations", "ms", "±", "link ms", "speed-up"});
  if (target.has_value()) {
    table[0].push_back("to loss");
    table[0].push_back("speed-up");
  }
  for (const char* name : {"up", "down", "ratio"}) table[0].push_back(name);
  const bool evaluated = std::any_of(
      comparison.runs.begin(), comparison.runs.end(),
      [](const auto& run) { return !run.records.evaluations.empty(); });
  if (evaluated) table[0].push_back("test");
  for (const ComparedRun& run : comparison.runs) {
    const RunMeasures& measures = run.measures;
    std::vector<std::string> row = {
        run.setting,
        FormatCount(static_cast<int64_t>(run.records.iterations.size())),
        Milliseconds(measures.mean),
        Milliseconds(measures.deviation),
        Milliseconds(LinkSeconds(comparison, run)),
        Number(SpeedUp(comparison, run), "x"),
    };
    if (target.has_value()) {
      row.push_back(measures.target.has_value()
                        ? Number(measures.target->seconds, " s")
                        : "not reached");
      row.push_back(Number(TargetSpeedUp(comparison, run), "x"));
    }
    row.push_back(Bytes(measures.bytes_up));
    row.push_back(Bytes(measures.bytes_down));
    row.push_back(std::isfinite(measures.achieved_ratio)
                      ? absl::StrFormat("%.3g", measures.achieved_ratio)
                      : kMissing);
    if (evaluated) row.push_back(LastEvaluation(run.records));
    table.push_back(row);
  }
  return table;
}

// By phase in order of first appearance in any run; empty without phases.
TextTable PhaseTable(const NetworkComparison& comparison) {
  std::vector<std::string> header = {""};
  for (const ComparedRun& run : comparison.runs) {
    for (const auto& phase : run.measures.phases) {
      if (std::find(header.begin(), header.end(), phase.first) ==
          header.end()) {
        header.push_back(phase.first);
      }
    }
  }
  if (header.size() == 1) return {};
  TextTable table = {header};
  for (const ComparedRun& run : comparison.runs) {
    std::vector<std::string> row = {run.setting};
    for (size_t column = 1; column < header.size(); ++column) {
      double seconds = RunMeasures::kUnknown;
      for (const auto& phase : run.measures.phases) {
        if (phase.first == header[column]) seconds = phase.second;
      }
      row.push_back(Milliseconds(seconds));
    }
    table.push_back(row);
  }
  return table;
}

}  // namespace

std::string ComparisonTable(const NetworkComparison& comparison) {
  std::string text = absl::StrCat(Heading(comparison), "\n",
                                  FormatTextTable(MainTable(comparison)), "\n",
                                  Legend(comparison));
  const TextTable phases = PhaseTable(comparison);
  if (!phases.empty()) {
    absl::StrAppend(&text,
                    "\nms of an iteration by phase, as worker 0 records "
                    "them (phases may overlap):\n",
                    FormatTextTable(phases));
  }
  for (const ComparedRun& run : comparison.runs) {
    if (run.failure.empty()) continue;
    absl::StrAppend(&text, "\n", run.setting, " failed: ", run.failure, "\n");
  }
  return text;
}

}  // namespace ps
