// What is computed, so that every process that computes a part of it does the
// same.
#ifndef TOOLS_INFLUENCE_PLAN_H_
#define TOOLS_INFLUENCE_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/dataset.h"
#include "proto/config.pb.h"
#include "tools/influence/checkpoints.h"
#include "tools/influence/queries.h"

namespace ps {

inline constexpr char kLastLayer[] = "last";
inline constexpr char kAllLayers[] = "all";

struct InfluencePlan {
  JobConfig config;  // With one thread for each process.
  // Whose weights count: kLastLayer, kAllLayers, or names with commas.
  std::string layers = kLastLayer;
  bool with_bias = true;    // kLastLayer: the bias counts, too.
  int64_t sketch_size = 0;  // kLastLayer: for each checkpoint; 0: no sketches.
  std::vector<InfluenceCheckpoint> checkpoints;  // Ascending.
  std::vector<InfluenceQuery> queries;
  int64_t num_examples = 0;  // Of the training set.
};

// The data of the job, where training images are not changed at random.
absl::StatusOr<DatasetPair> ReadInfluenceData(const JobConfig& config);

// As bytes, for a file. Errors: kDataLoss for something else.
std::string SerializePlan(const InfluencePlan& plan);
absl::StatusOr<InfluencePlan> ParsePlan(absl::string_view bytes);

// A part of the work: training examples [begin, end), or all queries, at one
// checkpoint. Its result is a function of the plan and this alone.
struct WorkUnit {
  int64_t checkpoint = 0;
  bool of_queries = false;
  int64_t begin = 0;
  int64_t end = 0;
};

// By checkpoint; first the queries, if there are any, and then the examples in
// order. Does not depend on how many processes
// there are.
std::vector<WorkUnit> CutIntoUnits(const InfluencePlan& plan);

}  // namespace ps

#endif  // TOOLS_INFLUENCE_PLAN_H_
