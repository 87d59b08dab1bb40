#include "tools/bench/load/report_json.h"

#include <optional>

#include "common/json.h"
#include "nlohmann/json.hpp"
#include "tools/bench/load/latency_histogram.h"
#include "tools/bench/load/memory_growth.h"

namespace ps {
namespace {

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

std::string LoadJson(const LoadRun& run) {
  return JsonText(RunJson(run)) + "\n";
}

std::string SweepJson(const std::vector<LoadRun>& runs) {
  Json json;
  json["runs"] = Json::array();
  for (const LoadRun& run : runs) json["runs"].push_back(RunJson(run));
  return JsonText(json) + "\n";
}

}  // namespace ps
