#include "tools/commands/server_bounds.h"

#include <cstdint>

#include "common/status_macros.h"
#include "worker/bucket_plan.h"

namespace ps {

absl::StatusOr<std::vector<MemoryBound>> ServerBounds(JobConfig config) {
  config.mutable_machine()->set_device("cpu");
  PS_ASSIGN_OR_RETURN(const TrainingParts parts,
                      MakeTrainingParts(config, /*worker_rank=*/0));
  return ServerBounds(config, parts);
}

absl::StatusOr<std::vector<MemoryBound>> ServerBounds(
    const JobConfig& config, const TrainingParts& parts) {
  const std::vector<int64_t> averaged = AveragedBuckets(
      config.training(), parts.model->statistics_values().size());
  PS_ASSIGN_OR_RETURN(const ShardMap map,
                      PlanShards(config, parts.buckets, averaged));
  std::vector<MemoryBound> bounds;
  for (int i = 0; i < config.cluster().num_servers(); ++i) {
    const ServerPart part =
        PartOf(map, static_cast<int64_t>(averaged.size()), i);
    PS_ASSIGN_OR_RETURN(const MemoryBound bound, MemoryBoundOf(config, part));
    bounds.push_back(bound);
  }
  return bounds;
}

}  // namespace ps
