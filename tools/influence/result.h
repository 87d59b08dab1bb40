// What an influence command has found, for tables, JSON and pages.
#ifndef TOOLS_INFLUENCE_RESULT_H_
#define TOOLS_INFLUENCE_RESULT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/influence/plan.h"
#include "tools/influence/queries.h"
#include "tools/influence/ranking.h"
#include "tools/influence/sums.h"

namespace ps {

// A query at the last checkpoint.
struct QueryResult {
  InfluenceQuery query;
  std::string name;
  int32_t label = 0;
  int32_t predicted = 0;
  double loss = 0;
  std::vector<int64_t> proponents;  // Numbers of training examples, by size.
  std::vector<int64_t> opponents;
  std::vector<double> influence;  // Of each training example.
};

struct NamedRanking {
  std::string name;     // In JSON: "self_influence".
  std::string meaning;  // For people.
  std::vector<int64_t> ranking;
};

struct InfluenceResult {
  InfluenceResult(InfluencePlan used, InfluenceSums found)
      : plan(std::move(used)), sums(std::move(found)) {}

  std::string run;  // As it was named.
  InfluencePlan plan;
  InfluenceSums sums;
  int64_t top = 0;  // How many examples lists have.
  std::vector<std::string> class_names;
  std::vector<std::string> example_names;  // Of training examples.
  std::vector<QueryResult> queries;
  bool shows_self = false;
  std::vector<NamedRanking> rankings;  // By self-influence, and baselines.
  // Whether each training example is known to be mislabelled; empty if nothing
  // is known.
  std::vector<bool> mislabelled;
};

// Self-influence, then the loss at the last checkpoint, and summed over all.
std::vector<NamedRanking> RankExamples(const InfluenceSums& sums);

// The layers whose gradients count.
std::string LayersInWords(const InfluencePlan& plan);

// For a terminal.
std::string InfluenceText(const InfluenceResult& result);

// All lists with all digits.
std::string InfluenceJson(const InfluenceResult& result);

}  // namespace ps

#endif  // TOOLS_INFLUENCE_RESULT_H_
