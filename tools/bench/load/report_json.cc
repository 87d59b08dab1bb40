#include "tools/bench/load/report_json.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "tools/bench/load/latency_histogram.h"
#include "tools/bench/load/memory_growth.h"

namespace ps {
namespace {

nlohmann::ordered_json LatencyJson(const LatencyHistogram& latency) {
  nlohmann::ordered_json json;
  json["count"] = latency.count();
  for (const LoadPercentile& percentile : kLoadPercentiles) {
    json[percentile.name] = 1e-9 * latency.Quantile(percentile.q);
  }
  json["max"] = 1e-9 * static_cast<double>(latency.largest());
  return json;
}

nlohmann::ordered_json FlatJson(const std::optional<bool>& flat) {
  if (!flat.has_value()) return nullptr;
  return *flat;
}

nlohmann::ordered_json MemoryJson(const std::string& name,
                                  const MemoryGrowth& growth) {
  return {{"process", name},
          {"first_bytes", growth.first},
          {"after_tenth_bytes", growth.after_tenth},
          {"last_bytes", growth.last},
          {"largest_bytes", growth.largest}};
}

nlohmann::ordered_json ServerMemoryJson(const LoadResult& result) {
  auto servers = nlohmann::ordered_json::array();
  for (const ProcessMemory& process : result.server_memory) {
    const MemoryGrowth growth = GrowthOf(process, result.seconds);
    nlohmann::ordered_json server = MemoryJson(process.name, growth);
    server["largest_before_half_bytes"] = growth.largest_before_half;
    server["largest_after_half_bytes"] = growth.largest_after_half;
    server["flat"] = FlatJson(growth.flat);
    servers.push_back(server);
  }
  return servers;
}

nlohmann::ordered_json WorkerMemoryJson(const LoadResult& result) {
  auto workers = nlohmann::ordered_json::array();
  for (const ProcessMemory& process : result.worker_memory) {
    workers.push_back(
        MemoryJson(process.name, GrowthOf(process, result.seconds)));
  }
  return workers;
}

nlohmann::ordered_json RunJson(const LoadRun& run) {
  const LoadOptions& options = run.settings.options;
  const LoadResult& result = run.result;
  nlohmann::ordered_json json;
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

// Paths need not be UTF-8; JSON must be.
std::string Dump(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

}  // namespace

std::string LoadJson(const LoadRun& run) { return Dump(RunJson(run)); }

std::string SweepJson(const std::vector<LoadRun>& runs) {
  nlohmann::ordered_json json;
  json["runs"] = nlohmann::ordered_json::array();
  for (const LoadRun& run : runs) json["runs"].push_back(RunJson(run));
  return Dump(json);
}

}  // namespace ps
