#include "tools/report/run_records.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/file.h"
#include "common/json.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"

namespace ps {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double Number(const Json& json, const char* name) {
  const auto it = json.find(name);
  return it != json.end() && it->is_number() ? it->get<double>() : kNaN;
}

std::string Text(const Json& json, const char* name) {
  const auto it = json.find(name);
  return it != json.end() && it->is_string() ? it->get<std::string>() : "";
}

void TakeStart(const Json& json, RunRecords* run) {
  run->job = Text(json, "job");
  run->model = Text(json, "model");
  run->compressor = Text(json, "compressor");
  run->value_code = Text(json, "value_code");
  run->target_ratio = Number(json, "target_ratio");
  run->num_workers = Number(json, "num_workers");
  run->num_servers = Number(json, "num_servers");
  run->num_parameters = Number(json, "num_parameters");
  run->total_iterations = Number(json, "total_iterations");
}

void TakeIteration(const Json& json, RunRecords* run) {
  IterationRow row;
  row.iteration = Number(json, "iteration");
  row.training_loss = Number(json, "training_loss");
  row.count = Number(json, "count");
  row.target_count = Number(json, "target_count");
  row.stages = Number(json, "stages");
  if (json.contains("residual_norm")) {
    row.residual_norm = Number(json, "residual_norm");
  }
  row.achieved_ratio = Number(json, "iteration_achieved_ratio");
  if (json.contains("iteration_compressed_share")) {
    row.compressed_share = Number(json, "iteration_compressed_share");
  }
  if (json.contains("phases") && json["phases"].is_object()) {
    for (const auto& phase : json["phases"].items()) {
      if (!phase.value().is_number()) continue;
      row.phases.emplace_back(phase.key(), phase.value().get<double>());
    }
  }
  row.seconds = Number(json, "seconds");
  run->samples_per_second = Number(json, "samples_per_second");
  row.samples = run->samples_per_second * row.seconds;
  row.bytes_up = Number(json, "bytes_up");
  row.bytes_down = Number(json, "bytes_down");
  run->seconds = row.seconds;
  run->achieved_ratio = Number(json, "achieved_ratio");
  run->compressed_share = Number(json, "compressed_share");
  run->bytes_up = row.bytes_up;
  run->bytes_down = row.bytes_down;
  run->dense_bytes_up = Number(json, "dense_bytes_up");
  run->dense_bytes_down = Number(json, "dense_bytes_down");
  run->iterations.push_back(std::move(row));
}

}  // namespace

absl::StatusOr<RunRecords> ReadRunRecords(const std::string& directory) {
  const std::string path = absl::StrCat(directory, "/metrics.jsonl");
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) {
    return Annotate(
        text.status(),
        absl::StrCat(directory,
                     " is not the directory of a run, as `gradsieve "
                     "train --run-dir` makes it"));
  }
  RunRecords run;
  run.directory = directory;
  run.seconds = run.samples_per_second = run.achieved_ratio = kNaN;
  run.bytes_up = run.bytes_down = kNaN;
  run.dense_bytes_up = run.dense_bytes_down = kNaN;
  const auto damaged = [&path](int64_t line, absl::string_view what) {
    return absl::DataLossError(
        absl::StrCat(path, ", line ", line, " ", what,
                     "; the file is damaged, and the run must be repeated"));
  };
  absl::string_view rest = *text;
  int64_t line = 0;
  for (size_t end; (end = rest.find('\n')) != absl::string_view::npos;
       rest.remove_prefix(end + 1)) {
    ++line;
    const Json json = ParseJson(rest.substr(0, end));
    if (!json.is_object()) return damaged(line, "is not a JSON object");
    const std::string event = Text(json, "event");
    if ((event == "start") != (line == 1)) {
      return damaged(line, line == 1 ? "does not have the event \"start\""
                                     : "has the event \"start\" again");
    }
    if (event == "start") {
      TakeStart(json, &run);
    } else if (std::isnan(Number(json, "iteration"))) {
      return damaged(line, "has no iteration number");
    } else if (event == "iteration") {
      TakeIteration(json, &run);
    } else if (event == "evaluation") {
      if (json.contains("metric")) run.metric = Text(json, "metric");
      EvaluationRow row;
      row.iteration = Number(json, "iteration");
      row.value = Number(json, run.metric.c_str());
      row.loss = Number(json, "test_loss");
      if (!run.iterations.empty()) {
        const IterationRow& last = run.iterations.back();
        row.seconds = last.seconds;
        row.bytes = last.bytes_up + last.bytes_down;
      }
      run.evaluations.push_back(row);
    }
    // Other events are from newer versions and are ignored.
  }
  if (line == 0) {
    return absl::DataLossError(absl::StrCat(
        path,
        " has no complete line yet; the run has failed at its start, or "
        "has not begun"));
  }
  return run;
}

void SetIterationSeconds(double seconds, RunRecords* run) {
  for (IterationRow& row : run->iterations) {
    row.seconds = row.iteration * seconds;
  }
  for (EvaluationRow& row : run->evaluations) {
    row.seconds = row.iteration * seconds;
  }
  if (run->iterations.empty()) return;
  const IterationRow& last = run->iterations.back();
  run->seconds = last.seconds;
  run->samples_per_second = last.samples / last.seconds;
}

RatioQuality MeasureRatioQuality(const RunRecords& run) {
  RatioQuality quality;
  if (!std::isfinite(run.target_ratio)) return quality;
  int64_t within = 0;
  for (size_t i = kSettlingIterations; i < run.iterations.size(); ++i) {
    const IterationRow& row = run.iterations[i];
    const double ratio = row.count / row.target_count;
    if (!std::isfinite(ratio)) continue;
    ++quality.iterations;
    quality.mean += ratio;
    if (std::abs(ratio - 1) <= 0.2) ++within;
  }
  if (quality.iterations == 0) return quality;
  const double count = static_cast<double>(quality.iterations);
  quality.mean /= count;
  quality.share_within_20 = static_cast<double>(within) / count;
  return quality;
}

}  // namespace ps
