#include "tools/bench/network/comparison_report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/json.h"
#include "nlohmann/json.hpp"
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

int64_t NumIterations(const ComparedRun& run) {
  const std::vector<IterationRow>& rows = run.records.iterations;
  if (rows.empty() || !std::isfinite(rows.back().iteration)) return 0;
  return static_cast<int64_t>(rows.back().iteration);
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
        FormatCount(NumIterations(run)),
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

// Records have counts as doubles.
Json Whole(double count) {
  if (!std::isfinite(count)) return nullptr;
  return static_cast<int64_t>(count);
}

Json RunJson(const NetworkComparison& comparison, const ComparedRun& run) {
  const RunMeasures& measures = run.measures;
  Json phases = Json::object();
  for (const auto& [name, seconds] : measures.phases) phases[name] = seconds;
  Json json = {
      {"setting", run.setting},
      {"compressor", run.records.compressor},
      {"value_code", run.records.value_code},
      {"target_ratio", run.records.target_ratio},
      {"num_workers", Whole(run.records.num_workers)},
      {"num_servers", Whole(run.records.num_servers)},
      {"iterations", NumIterations(run)},
      {"measured_iterations", measures.iterations},
      {"seconds_per_iteration", measures.mean},
      {"seconds_per_iteration_standard_deviation", measures.deviation},
      {"seconds_per_iteration_median", measures.median},
      {"seconds_per_iteration_smallest", measures.smallest},
      {"seconds_per_iteration_largest", measures.largest},
      {"link_seconds_per_iteration", LinkSeconds(comparison, run)},
      {"phase_seconds_per_iteration", phases},
      {"speed_up", SpeedUp(comparison, run)},
      {"bytes_up_per_iteration", measures.bytes_up},
      {"bytes_down_per_iteration", measures.bytes_down},
      {"achieved_ratio", measures.achieved_ratio},
      {"link_bytes", run.link_bytes},
      {"run_directory", run.run_directory},
  };
  if (comparison.options.target_loss.has_value()) {
    json["seconds_to_target_loss"] = SecondsToTarget(run);
    json["iterations_to_target_loss"] = measures.target.has_value()
                                            ? Json(measures.target->iteration)
                                            : Json(nullptr);
    json["speed_up_to_target_loss"] = TargetSpeedUp(comparison, run);
  }
  if (!run.records.evaluations.empty()) {
    json[run.records.metric] = run.records.evaluations.back().value;
  }
  if (!run.failure.empty()) json["failure"] = run.failure;
  return json;
}

Json OneComparison(const NetworkComparison& comparison) {
  const RunRecords& first = AnyRecords(comparison);
  Json json = {
      {"job", comparison.job},
      {"model", first.model},
      {"num_parameters", Whole(first.num_parameters)},
      {"bits_per_second", comparison.bits_per_second},
      {"measured_bits_per_second_up", comparison.measured_up},
      {"measured_bits_per_second_down", comparison.measured_down},
      {"warm_up", comparison.options.warm_up},
      {"timed_iterations", comparison.timed_iterations},
      {"smoothing", comparison.options.smoothing},
  };
  if (comparison.options.target_loss.has_value()) {
    json["target_loss"] = *comparison.options.target_loss;
  }
  json["runs"] = Json::array();
  for (const ComparedRun& run : comparison.runs) {
    json["runs"].push_back(RunJson(comparison, run));
  }
  json["hosts"] = Json::array();
  for (const ComparedHost& host : comparison.hosts) {
    json["hosts"].push_back({{"name", host.name},
                             {"address", host.address},
                             {"network_namespace", host.network_namespace}});
  }
  return json;
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

std::string ComparisonJson(const std::vector<NetworkComparison>& comparisons) {
  Json json;
  if (comparisons.size() == 1) {
    json = OneComparison(comparisons[0]);
  } else {
    json["bandwidths"] = Json::array();
    for (const NetworkComparison& comparison : comparisons) {
      json["bandwidths"].push_back(OneComparison(comparison));
    }
  }
  return JsonText(json) + "\n";
}

}  // namespace ps
