// How much memory the servers of a job take at most.
#ifndef TOOLS_COMMANDS_SERVER_BOUNDS_H_
#define TOOLS_COMMANDS_SERVER_BOUNDS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "server/limits/memory_bound.h"
#include "worker/training_parts.h"

namespace ps {

// That of each server, by index. Reads the job's data, on which the size of the
// model depends. Errors: those of the config and the data.
absl::StatusOr<std::vector<MemoryBound>> ServerBounds(JobConfig config);

// The same for a job with these parts, which do not depend on its numbers of
// workers and servers.
absl::StatusOr<std::vector<MemoryBound>> ServerBounds(
    const JobConfig& config, const TrainingParts& parts);

}  // namespace ps

#endif  // TOOLS_COMMANDS_SERVER_BOUNDS_H_
