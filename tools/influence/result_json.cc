#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/json.h"
#include "nlohmann/json.hpp"
#include "tools/influence/result.h"

namespace ps {
namespace {

Json ExampleJson(const InfluenceResult& result, int64_t number,
                 const char* score_name, double score) {
  return {{"example", number},
          {"name", result.example_names[number]},
          {"label", result.class_names[result.sums.labels()[number]]},
          {"predicted", result.class_names[result.sums.predicted()[number]]},
          {score_name, score},
          {"loss", result.sums.last_losses()[number]}};
}

Json QueryJson(const InfluenceResult& result, const QueryResult& query) {
  Json json;
  json["query"] = query.name;
  if (query.query.file.empty()) {
    json["split"] = query.query.of_training_set ? "train" : "test";
  }
  json["label"] = result.class_names[query.label];
  json["predicted"] = result.class_names[query.predicted];
  json["loss"] = query.loss;
  for (const auto& [name, numbers] : {std::pair{"proponents", query.proponents},
                                      {"opponents", query.opponents}}) {
    Json& list = json[name] = Json::array();
    for (const int64_t number : numbers) {
      list.push_back(
          ExampleJson(result, number, "influence", query.influence[number]));
    }
  }
  return json;
}

Json RecallJson(const InfluenceResult& result) {
  Json json;
  json["examples"] =
      std::count(result.mislabelled.begin(), result.mislabelled.end(), true);
  json["best_area"] = BestArea(result.mislabelled);
  for (const NamedRanking& each : result.rankings) {
    const Recall recall = MeasureRecall(each.ranking, result.mislabelled);
    Json& ranking = json["rankings"][each.name];
    for (size_t i = 0; i < recall.at.size(); ++i) {
      ranking["recall"][absl::StrCat(kRecallShares[i])] = recall.at[i];
    }
    ranking["area"] = recall.area;
    ranking["average_precision"] = recall.average_precision;
  }
  return json;
}

}  // namespace

std::string InfluenceJson(const InfluenceResult& result) {
  const InfluencePlan& plan = result.plan;
  Json json;
  json["job"] = plan.config.name();
  json["model"] = plan.config.model().name();
  json["data"] = plan.config.data().name();
  json["examples"] = plan.num_examples;
  json["layers"] = plan.layers;
  json["bias"] = plan.with_bias;
  Json& checkpoints = json["checkpoints"] = Json::array();
  for (const InfluenceCheckpoint& checkpoint : plan.checkpoints) {
    checkpoints.push_back({{"push", checkpoint.push},
                           {"learning_rate", checkpoint.learning_rate},
                           {"training_loss", checkpoint.training_loss}});
  }
  if (!result.queries.empty()) {
    Json& queries = json["queries"] = Json::array();
    for (const QueryResult& query : result.queries) {
      queries.push_back(QueryJson(result, query));
    }
  }
  if (result.shows_self) {
    Json& ranking = json["self"] = Json::array();
    for (const int64_t number : result.rankings[0].ranking) {
      ranking.push_back(ExampleJson(result, number, "self_influence",
                                    result.sums.self()[number]));
      ranking.back()["loss_sum"] = result.sums.loss_sums()[number];
    }
  }
  if (!result.mislabelled.empty()) json["mislabelled"] = RecallJson(result);
  return JsonText(json) + "\n";
}

}  // namespace ps
