#include "tools/report/run_comparison.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "common/metric.h"
#include "nlohmann/json.hpp"
#include "tools/command_line/human_format.h"
#include "tools/report/run_table.h"

namespace ps {
namespace {

std::string TimeText(double seconds) {
  return FormatTimeSpan(absl::Seconds(seconds));
}

std::string CountText(double count) {
  return FormatCount(static_cast<int64_t>(std::round(count)));
}

std::string BytesText(double bytes) {
  return FormatBytes(static_cast<int64_t>(bytes));
}

// What is compared with the first run.
struct Measure {
  const char* heading;
  const char* name;  // In JSON.
  double RunRecords::*value;
  std::string (*text)(double value);
};

constexpr Measure kMeasures[] = {
    {"time", "seconds", &RunRecords::seconds, TimeText},
    {"samples/s", "samples_per_second", &RunRecords::samples_per_second,
     CountText},
    {"bytes up", "bytes_up", &RunRecords::bytes_up, BytesText},
    {"bytes down", "bytes_down", &RunRecords::bytes_down, BytesText},
};

std::string CellOf(const Measure& measure, const RunRecords& run,
                   const RunRecords& first) {
  const double value = run.*measure.value;
  if (!std::isfinite(value)) return kMissing;
  const double ratio = value / first.*measure.value;
  return std::isfinite(ratio)
             ? absl::StrFormat("%s (%.3g)", measure.text(value), ratio)
             : measure.text(value);
}

// "test accuracy", or "result" if the runs have different metrics.
std::string ResultHeading(const std::vector<RunRecords>& runs) {
  std::set<std::string> metrics;
  for (const RunRecords& run : runs) metrics.insert(run.metric);
  return metrics.size() == 1 ? MetricWords(*metrics.begin()) : "result";
}

// Not a number becomes null.
double ResultOf(const RunRecords& run) {
  return run.evaluations.empty() ? std::numeric_limits<double>::quiet_NaN()
                                 : run.evaluations.back().value;
}

}  // namespace

TextTable ComparisonTable(const std::vector<RunRecords>& runs) {
  const std::vector<std::string> labels = RunLabels(runs);
  const std::string result = ResultHeading(runs);
  TextTable table = {{"run", result}};
  for (const Measure& measure : kMeasures) {
    table[0].push_back(measure.heading);
  }
  table[0].push_back("iterations");
  for (size_t i = 0; i < runs.size(); ++i) {
    std::vector<std::string>& row = table.emplace_back();
    row = {labels[i], LastResult(runs[i])};
    if (result == "result" && !runs[i].evaluations.empty()) {
      row[1] = absl::StrCat(MetricWords(runs[i].metric), " ", row[1]);
    }
    for (const Measure& measure : kMeasures) {
      row.push_back(CellOf(measure, runs[i], runs[0]));
    }
    row.push_back(IterationsText(runs[i]));
  }
  return table;
}

Json ComparisonJson(const std::vector<RunRecords>& runs) {
  const std::vector<std::string> labels = RunLabels(runs);
  Json all = Json::array();
  for (size_t i = 0; i < runs.size(); ++i) {
    const RunRecords& run = runs[i];
    Json json;
    json["run"] = labels[i];
    json["directory"] = run.directory;
    json["job"] = run.job;
    json["model"] = run.model;
    json["compressor"] = run.compressor;
    json["value_code"] = run.value_code;
    json["target_ratio"] = run.target_ratio;
    json["achieved_ratio"] = run.achieved_ratio;
    json["iterations"] =
        run.iterations.empty() ? 0 : run.iterations.back().iteration;
    json["total_iterations"] = run.total_iterations;
    json["metric"] = run.metric;
    json["result"] = ResultOf(run);
    json["dense_bytes_up"] = run.dense_bytes_up;
    json["dense_bytes_down"] = run.dense_bytes_down;
    Json ratios;
    for (const Measure& measure : kMeasures) {
      json[measure.name] = run.*measure.value;
      ratios[measure.name] = run.*measure.value / runs[0].*measure.value;
    }
    json["relative_to_first"] = ratios;
    all.push_back(std::move(json));
  }
  return all;
}

}  // namespace ps
