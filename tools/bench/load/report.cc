#include "tools/bench/load/report.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/consistency.h"
#include "common/json.h"
#include "nlohmann/json.hpp"
#include "tools/bench/load/latency_histogram.h"
#include "tools/bench/load/memory_growth.h"
#include "tools/command_line/human_format.h"

namespace ps {
namespace {

std::string VerdictWord(const std::optional<bool>& flat) {
  return !flat.has_value() ? "too short to say" : *flat ? "flat" : "GROWS";
}

std::string SettingsText(const LoadRun& run) {
  const LoadOptions& options = run.settings.options;
  const LoadResult& result = run.result;
  return absl::StrCat(Counted(options.workers, "worker"), " in ",
                      Counted(result.worker_processes, "process"), ", ",
                      Counted(options.servers, "server"), "; ",
                      Counted(run.settings.elements, "parameter"), " (",
                      FormatBytes(4 * run.settings.elements), ");\ncompressor ",
                      run.settings.job.compressor().ShortDebugString(), ";\n",
                      options.gradients.empty()
                          ? "generated gradients"
                          : absl::StrCat("gradients of ", options.gradients),
                      ": ", Counted(result.plan.streams, "stream"), " of ",
                      Counted(result.plan.ring, "iteration"), ", replayed, ",
                      FormatBytes(result.payload_bytes),
                      " of payloads in each worker process.\n");
}

void AppendLatency(const char* label, const LatencyHistogram& latency,
                   std::string* text) {
  absl::StrAppendFormat(text, "%-12s", label);
  for (const LoadPercentile& percentile : kLoadPercentiles) {
    absl::StrAppendFormat(text, "%11.3f",
                          1e-6 * latency.Quantile(percentile.q));
  }
  absl::StrAppendFormat(text, "%11.3f\n",
                        1e-6 * static_cast<double>(latency.largest()));
}

std::string LatencyText(const LoadResult& result) {
  std::string text = absl::StrFormat("%-12s", "latency, ms");
  for (const LoadPercentile& percentile : kLoadPercentiles) {
    absl::StrAppendFormat(&text, "%11s", percentile.name);
  }
  absl::StrAppendFormat(&text, "%11s\n", "max");
  AppendLatency("push", result.counts.push, &text);
  AppendLatency("iteration", result.counts.iteration, &text);
  absl::StrAppendFormat(&text, "(percentiles within %.1f %%)\n",
                        100 * LatencyHistogram::kRelativeError);
  return text;
}

void AppendMemory(const ProcessMemory& process, const MemoryGrowth& growth,
                  absl::string_view verdict, std::string* text) {
  absl::StrAppendFormat(
      text, "%-18s%10s%12s%10s%10s  %s\n", process.name,
      FormatBytes(growth.first), FormatBytes(growth.after_tenth),
      FormatBytes(growth.last), FormatBytes(growth.largest), verdict);
}

std::string MemoryText(const LoadResult& result) {
  std::string text = absl::StrFormat("%-18s%10s%12s%10s%10s\n", "memory",
                                     "first", "after 1/10", "last", "largest");
  for (const ProcessMemory& process : result.server_memory) {
    const MemoryGrowth growth = GrowthOf(process, result.seconds);
    AppendMemory(process, growth, VerdictWord(growth.flat), &text);
  }
  for (const ProcessMemory& process : result.worker_memory) {
    AppendMemory(process, GrowthOf(process, result.seconds), "", &text);
  }
  absl::StrAppend(&text, "Servers' memory: ", VerdictWord(result.MemoryFlat()),
                  ". Flat is: ", kFlatRule, ".\n");
  return text;
}

Json LatencyJson(const LatencyHistogram& latency) {
  Json json;
  json["count"] = latency.count();
  for (const LoadPercentile& percentile : kLoadPercentiles) {
    json[percentile.name] = 1e-9 * latency.Quantile(percentile.q);
  }
  json["max"] = 1e-9 * static_cast<double>(latency.largest());
  return json;
}

Json FlatJson(const std::optional<bool>& flat) {
  if (!flat.has_value()) return nullptr;
  return *flat;
}

Json MemoryJson(const std::string& name, const MemoryGrowth& growth) {
  return {{"process", name},
          {"first_bytes", growth.first},
          {"after_tenth_bytes", growth.after_tenth},
          {"last_bytes", growth.last},
          {"largest_bytes", growth.largest}};
}

Json ServerMemoryJson(const LoadResult& result) {
  auto servers = Json::array();
  for (const ProcessMemory& process : result.server_memory) {
    const MemoryGrowth growth = GrowthOf(process, result.seconds);
    Json server = MemoryJson(process.name, growth);
    server["largest_before_half_bytes"] = growth.largest_before_half;
    server["largest_after_half_bytes"] = growth.largest_after_half;
    server["flat"] = FlatJson(growth.flat);
    servers.push_back(server);
  }
  return servers;
}

Json WorkerMemoryJson(const LoadResult& result) {
  auto workers = Json::array();
  for (const ProcessMemory& process : result.worker_memory) {
    workers.push_back(
        MemoryJson(process.name, GrowthOf(process, result.seconds)));
  }
  return workers;
}

Json RunJson(const LoadRun& run) {
  const LoadOptions& options = run.settings.options;
  const LoadResult& result = run.result;
  Json json;
  json["workers"] = options.workers;
  json["servers"] = options.servers;
  json["parameters"] = run.settings.elements;
  json["seconds"] = result.seconds;
  json["iterations"] = result.iterations;
  json["seconds_per_iteration"] = result.SecondsPerIteration();
  json["pushes"] = result.counts.pushes;
  json["payload_bytes"] = result.counts.payload_bytes;
  json["answer_bytes"] = result.counts.answer_bytes;
  json["push_latency_seconds"] = LatencyJson(result.counts.push);
  json["iteration_latency_seconds"] = LatencyJson(result.counts.iteration);
  json["latency_relative_error"] = LatencyHistogram::kRelativeError;
  json["server_cpu_seconds_per_iteration"] = result.ServerCpuPerIteration();
  json["worker_cpu_seconds_per_iteration"] = result.WorkerCpuPerIteration();
  json["memory_flat"] = FlatJson(result.MemoryFlat());
  json["memory_rule"] = kFlatRule;
  json["server_memory"] = ServerMemoryJson(result);
  json["worker_memory"] = WorkerMemoryJson(result);
  json["weights_verified"] = result.not_verified.empty();
  if (!result.not_verified.empty()) {
    json["weights_not_verified_because"] = result.not_verified;
  }
  json["prepared"] = {{"streams", result.plan.streams},
                      {"ring", result.plan.ring},
                      {"bytes_in_each_worker_process", result.payload_bytes},
                      {"worker_processes", result.worker_processes}};
  json["settings"] = {
      {"processes", options.processes},
      {"megabytes", options.megabytes},
      {"seconds", options.seconds},
      {"iterations", options.iterations},
      {"gradients", options.gradients},
      {"ring", options.ring},
      {"payload_megabytes", options.payload_megabytes},
      {"compressor", run.settings.job.compressor().ShortDebugString()},
      {"overrides", options.overrides}};
  return json;
}

}  // namespace

std::string LoadText(const LoadRun& run) {
  const LoadResult& result = run.result;
  std::string text = absl::StrCat("\n", SettingsText(run), "\n");
  absl::StrAppendFormat(
      &text,
      "%s in %.1f s, %.3f ms each; %s, %s of payloads pushed, %s answered.\n\n",
      Counted(result.iterations, "iteration"), result.seconds,
      1e3 * result.SecondsPerIteration(), Counted(result.counts.pushes, "push"),
      FormatBytes(result.counts.payload_bytes),
      FormatBytes(result.counts.answer_bytes));
  absl::StrAppend(&text, LatencyText(result), "\n", MemoryText(result), "\n");
  absl::StrAppendFormat(
      &text,
      "Processor time of an iteration: servers %.3f ms, workers %.3f ms.\n",
      1e3 * result.ServerCpuPerIteration(),
      1e3 * result.WorkerCpuPerIteration());
  absl::StrAppend(
      &text,
      result.not_verified.empty()
          ? "Verified: the weights in the end are, bit for bit, those that the "
            "pushes must give.\n"
          : absl::StrCat(WorkersDrift(run.settings.job)
                             ? "Not compared: "
                             : "Workers and servers agree; ",
                         result.not_verified, ".\n"));
  return text;
}

std::string SweepText(const std::vector<LoadRun>& runs) {
  std::string text = absl::StrFormat(
      "\n%32s%29s%20s%11s%10s\n%7s%14s%11s%10s%10s%9s%10s%10s%11s%10s\n", "",
      "iteration, ms", "push, ms", "servers'", "servers'", "workers",
      "parameters", "iterations", "mean", "p50", "p99", "p50", "p99", "CPU, ms",
      "memory");
  for (const LoadRun& run : runs) {
    const LoadResult& result = run.result;
    int64_t memory = 0;
    for (const ProcessMemory& server : result.server_memory) {
      memory += GrowthOf(server, result.seconds).largest;
    }
    absl::StrAppendFormat(
        &text, "%7d%14s%11s%10.3f%10.3f%9.3f%10.3f%10.3f%11.3f%10s\n",
        run.settings.options.workers, FormatCount(run.settings.elements),
        FormatCount(result.iterations), 1e3 * result.SecondsPerIteration(),
        1e-6 * result.counts.iteration.Quantile(0.5),
        1e-6 * result.counts.iteration.Quantile(0.99),
        1e-6 * result.counts.push.Quantile(0.5),
        1e-6 * result.counts.push.Quantile(0.99),
        1e3 * result.ServerCpuPerIteration(), FormatBytes(memory));
  }
  const bool verified = std::all_of(
      runs.begin(), runs.end(),
      [](const LoadRun& run) { return run.result.not_verified.empty(); });
  absl::StrAppend(&text, verified
                             ? "\nEach was verified: the weights in the end "
                               "are those that the pushes must give.\n"
                         : WorkersDrift(runs.front().settings.job)
                             ? "\nWeights were not compared, because workers "
                               "do not wait for each other.\n"
                             : "\nWorkers and servers agree about the weights "
                               "in the end.\n");
  return text;
}

std::string LoadJson(const LoadRun& run) {
  return JsonText(RunJson(run)) + "\n";
}

std::string SweepJson(const std::vector<LoadRun>& runs) {
  Json json;
  json["runs"] = Json::array();
  for (const LoadRun& run : runs) json["runs"].push_back(RunJson(run));
  return JsonText(json) + "\n";
}

absl::Status CheckMemoryFlat(const LoadRun& run) {
  for (const ProcessMemory& process : run.result.server_memory) {
    const MemoryGrowth growth = GrowthOf(process, run.result.seconds);
    if (growth.flat != false) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "the memory of ", process.name, " grows: at most ",
        FormatBytes(growth.largest_before_half), " before the half, ",
        FormatBytes(growth.largest_after_half),
        " after it; flat is: ", kFlatRule));
  }
  return absl::OkStatus();
}

}  // namespace ps
