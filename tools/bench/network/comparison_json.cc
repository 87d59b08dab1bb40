#include "tools/bench/network/comparison_json.h"

#include <cmath>

#include "common/json.h"
#include "nlohmann/json.hpp"

namespace ps {
namespace {

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
      {"iterations", run.records.iterations.size()},
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
