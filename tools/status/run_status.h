// How far a run is, by what it has recorded.
#ifndef TOOLS_STATUS_RUN_STATUS_H_
#define TOOLS_STATUS_RUN_STATUS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/json.h"
#include "nlohmann/json.hpp"

namespace ps {

struct RunStatus {
  std::string text;  // Several lines.
  Json json;
};

// Errors: those of ReadRunRecords.
absl::StatusOr<RunStatus> ReadRunStatus(const std::string& directory,
                                        absl::Time now);

}  // namespace ps

#endif  // TOOLS_STATUS_RUN_STATUS_H_
