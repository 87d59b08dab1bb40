// Computes units of work, one after the other.
#ifndef TOOLS_INFLUENCE_UNIT_WORK_H_
#define TOOLS_INFLUENCE_UNIT_WORK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/batch.h"
#include "data/dataset.h"
#include "tools/evaluate/evaluated_job.h"
#include "tools/influence/gradient_products.h"
#include "tools/influence/plan.h"

namespace ps {

// Not thread-safe.
class UnitWork {
 public:
  // Reads data and queries.
  static absl::StatusOr<std::unique_ptr<UnitWork>> Create(
      const InfluencePlan& plan);

  // Loads the unit's checkpoint, unless it is that of the unit before. Errors:
  // those of LoadEvaluatedModel, Dataset::Read and GradientProducts; the
  // message names the checkpoint and, if a value is not finite, the example.
  absl::StatusOr<ExampleScores> Compute(const WorkUnit& unit);

 private:
  UnitWork(const InfluencePlan& plan, DatasetPair data, Batch queries)
      : plan_(plan), data_(std::move(data)), queries_(std::move(queries)) {}

  absl::Status LoadCheckpoint(int64_t number);
  LastLayerOptions LastLayerOptionsFor(int64_t checkpoint) const;
  absl::Status ScoreBatches(const WorkUnit& unit, ExampleScores* scores);

  const InfluencePlan plan_;
  const DatasetPair data_;
  const Batch queries_;
  int64_t loaded_ = -1;  // The number of the checkpoint.
  LoadedModel model_;
  std::unique_ptr<GradientProducts> products_;  // Uses model_.
};

// A unit's result as bytes, with a checksum. Errors: kDataLoss.
std::string SaveScores(const ExampleScores& scores);
absl::StatusOr<ExampleScores> LoadScores(absl::string_view bytes);

}  // namespace ps

#endif  // TOOLS_INFLUENCE_UNIT_WORK_H_
