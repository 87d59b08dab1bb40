#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/counted.h"
#include "tools/influence/result.h"
#include "tools/report/text_table.h"

namespace ps {
namespace {

std::string Heading(const InfluenceResult& result) {
  const InfluencePlan& plan = result.plan;
  return absl::StrCat(
      result.run, " (", plan.config.model().name(), "), ",
      Counted(plan.num_examples, "training example"), " of ",
      plan.config.data().name(), ", ", LayersInWords(plan),
      "\nsnapshots after ",
      absl::StrJoin(plan.checkpoints, ", ",
                    [](std::string* out, const InfluenceCheckpoint& c) {
                      absl::StrAppendFormat(out, "%d", c.push);
                    }),
      " pushes\n");
}

// A table of training examples; `score` has one for each.
std::string ExampleTable(const InfluenceResult& result,
                         const std::vector<int64_t>& numbers,
                         const std::string& score_name,
                         const std::vector<double>& score) {
  TextTable table = {{"  example", "label", "predicted", score_name, "loss"}};
  for (const int64_t number : numbers) {
    table.push_back(
        {"  " + result.example_names[number],
         result.class_names[result.sums.labels()[number]],
         result.class_names[result.sums.predicted()[number]],
         absl::StrFormat("%.4g", score[number]),
         absl::StrFormat("%.4f", result.sums.last_losses()[number])});
  }
  return FormatTextTable(table);
}

std::string QueryText(const InfluenceResult& result, const QueryResult& query) {
  std::string text =
      absl::StrFormat("\n%s %s: %s, taken for %s, loss %.4f\n",
                      !query.query.file.empty()     ? "file"
                      : query.query.of_training_set ? "training example"
                                                    : "test example",
                      query.name, result.class_names[query.label],
                      result.class_names[query.predicted], query.loss);
  for (const auto& [heading, numbers] :
       {std::pair{"proponents, which lowered this loss", query.proponents},
        {"opponents, which raised it", query.opponents}}) {
    absl::StrAppend(&text, heading, "\n");
    text += numbers.empty()
                ? "  none\n"
                : ExampleTable(result, numbers, "influence", query.influence);
  }
  return text;
}

std::string Percent(double share) {
  return absl::StrFormat("%.1f %%", 100 * share);
}

std::string RecallText(const InfluenceResult& result) {
  const auto known =
      std::count(result.mislabelled.begin(), result.mislabelled.end(), true);
  TextTable table = {{"ranking"}};
  for (const double share : kRecallShares) {
    table[0].push_back(absl::StrFormat("first %.0f %%", 100 * share));
  }
  table[0].push_back("area");
  table[0].push_back("precision");
  for (const NamedRanking& each : result.rankings) {
    const Recall recall = MeasureRecall(each.ranking, result.mislabelled);
    TextTable::value_type row = {each.meaning};
    for (const double at : recall.at) row.push_back(Percent(at));
    row.push_back(absl::StrFormat("%.3f", recall.area));
    row.push_back(absl::StrFormat("%.3f", recall.average_precision));
    table.push_back(row);
  }
  TextTable::value_type random = {"random order, on average"};
  for (const double share : kRecallShares) random.push_back(Percent(share));
  random.push_back("0.500");
  random.push_back(absl::StrFormat(
      "%.3f", known / static_cast<double>(result.mislabelled.size())));
  table.push_back(random);
  return absl::StrCat(
      "\nshare of the ", FormatCount(known),
      " known to be mislabelled, by how much of the ranking is inspected (best "
      "area ",
      absl::StrFormat("%.3f", BestArea(result.mislabelled)), ")\n",
      FormatTextTable(table));
}

}  // namespace

std::vector<NamedRanking> RankExamples(const InfluenceSums& sums) {
  return {
      {"self_influence", "self-influence", RankDescending(sums.self())},
      {"loss", "loss at the last snapshot", RankDescending(sums.last_losses())},
      {"loss_sum", "loss, sum of all snapshots",
       RankDescending(sums.loss_sums())},
  };
}

std::string LayersInWords(const InfluencePlan& plan) {
  if (plan.layers == kAllLayers) return "all layers";
  if (plan.layers != kLastLayer) return absl::StrCat("layers ", plan.layers);
  return plan.with_bias ? "last layer" : "last layer without its bias";
}

std::string InfluenceText(const InfluenceResult& result) {
  std::string text = Heading(result);
  for (const QueryResult& query : result.queries) {
    text += QueryText(result, query);
  }
  if (result.shows_self) {
    std::vector<int64_t> first = result.rankings[0].ranking;
    first.resize(std::min(result.top, static_cast<int64_t>(first.size())));
    absl::StrAppend(
        &text, "\nhighest self-influence\n",
        ExampleTable(result, first, "self-influence", result.sums.self()));
  }
  if (!result.mislabelled.empty()) text += RecallText(result);
  return text;
}

}  // namespace ps
