#include "tools/influence/plan.h"

#include <algorithm>

#include "absl/status/status.h"
#include "common/config.h"
#include "common/json.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"

namespace ps {
namespace {

// Some tenths of a second of work, so that little is lost with a process, and
// all end at about the same time.
constexpr int64_t kLastLayerUnit = 1000;
constexpr int64_t kBackwardUnit = 100;

}  // namespace

absl::StatusOr<DatasetPair> ReadInfluenceData(const JobConfig& config) {
  DatasetOptions data;
  data.config = config.data();
  data.seed = config.seed();
  data.augment = false;
  return NewDataset(data);
}

std::string SerializePlan(const InfluencePlan& plan) {
  Json json;
  json["config"] = ResolvedConfigText(plan.config);
  json["layers"] = plan.layers;
  json["with_bias"] = plan.with_bias;
  json["sketch_size"] = plan.sketch_size;
  json["num_examples"] = plan.num_examples;
  Json& checkpoints = json["checkpoints"] = Json::array();
  for (const InfluenceCheckpoint& checkpoint : plan.checkpoints) {
    checkpoints.push_back({{"push", checkpoint.push},
                           {"learning_rate", checkpoint.learning_rate},
                           {"weights", checkpoint.weights}});
  }
  Json& queries = json["queries"] = Json::array();
  for (const InfluenceQuery& query : plan.queries) {
    queries.push_back(QueryJson(query));
  }
  return JsonText(json);
}

absl::StatusOr<InfluencePlan> ParsePlan(absl::string_view bytes) {
  const Json json = ParseJson(bytes);
  try {
    InfluencePlan plan;
    PS_ASSIGN_OR_RETURN(
        plan.config,
        ParseConfig(json.at("config").get<std::string>(), "the plan's job"));
    plan.layers = json.at("layers");
    plan.with_bias = json.at("with_bias");
    plan.sketch_size = json.at("sketch_size");
    plan.num_examples = json.at("num_examples");
    for (const Json& entry : json.at("checkpoints")) {
      InfluenceCheckpoint checkpoint;
      checkpoint.push = entry.at("push");
      checkpoint.learning_rate = entry.at("learning_rate");
      checkpoint.weights = entry.at("weights");
      plan.checkpoints.push_back(std::move(checkpoint));
    }
    for (const Json& entry : json.at("queries")) {
      plan.queries.push_back(QueryFromJson(entry));
    }
    return plan;
  } catch (const Json::exception& error) {
    return absl::DataLossError(error.what());
  }
}

std::vector<WorkUnit> CutIntoUnits(const InfluencePlan& plan) {
  const int64_t size =
      plan.layers == kLastLayer ? kLastLayerUnit : kBackwardUnit;
  std::vector<WorkUnit> units;
  for (size_t i = 0; i < plan.checkpoints.size(); ++i) {
    const auto checkpoint = static_cast<int64_t>(i);
    if (!plan.queries.empty()) {
      units.push_back({checkpoint, /*of_queries=*/true});
    }
    for (int64_t begin = 0; begin < plan.num_examples; begin += size) {
      units.push_back({checkpoint, /*of_queries=*/false, begin,
                       std::min(begin + size, plan.num_examples)});
    }
  }
  return units;
}

}  // namespace ps
