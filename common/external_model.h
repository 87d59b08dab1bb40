// Jobs whose model, data and optimizer are in a program of the user's. A bridge
// (bridge/session.h) connects that program with the servers.
#ifndef COMMON_EXTERNAL_MODEL_H_
#define COMMON_EXTERNAL_MODEL_H_

#include "absl/status/status.h"
#include "common/config_check.h"
#include "proto/config.pb.h"

namespace ps {

// The name of such a model, and of the rule of such an optimizer.
inline constexpr char kExternal[] = "external";

bool HasExternalModel(const JobConfig& config);

// For programs that need the model. Errors: kFailedPrecondition, which says how
// a job without a model here is trained.
absl::Status CheckModelIsHere(const ModelConfig& model);

// Reports every field that a job with an external model must not set, and
// "external" where it has no meaning.
void CheckExternalModel(const JobConfig& config, ConfigProblems* problems);

}  // namespace ps

#endif  // COMMON_EXTERNAL_MODEL_H_
