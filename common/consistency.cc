#include "common/consistency.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/external_model.h"

namespace ps {

bool UpdatesByEachPush(const JobConfig& config) {
  return config.consistency().mode() != ConsistencyConfig::SYNCHRONOUS;
}

bool MayLeaveOut(const JobConfig& config) {
  return !UpdatesByEachPush(config) &&
         config.consistency().step_timeout_seconds() > 0;
}

bool SendsDifferences(const DownlinkConfig& downlink) {
  return downlink.mode() == DownlinkConfig::COMPRESSED ||
         downlink.compressor().name() != "none" ||
         downlink.compressor().value_code() != "fp32";
}

int MinWorkers(const JobConfig& config) {
  const int min_workers = config.consistency().min_workers();
  return WorkersDrift(config) && min_workers > 0
             ? min_workers
             : config.cluster().num_workers();
}

void CheckConsistency(const JobConfig& config, ConfigProblems* problems) {
  const ConsistencyConfig& consistency = config.consistency();
  const auto require = [problems](bool ok, const std::string& field, auto value,
                                  const std::string& rule) {
    if (!ok) {
      problems->Add(absl::StrCat("consistency.", field), absl::StrCat(value),
                    rule);
    }
  };
  const bool synchronous = !UpdatesByEachPush(config);
  const int num_workers = config.cluster().num_workers();
  const int min_workers = consistency.min_workers();
  const double timeout = consistency.step_timeout_seconds();
  require(synchronous || timeout == 0, "step_timeout_seconds", timeout,
          "must be 0 unless consistency.mode is SYNCHRONOUS: in other modes no "
          "update waits for several workers");
  require(min_workers >= 0 && min_workers <= num_workers, "min_workers",
          min_workers,
          absl::StrCat("must be in [0, ", num_workers,
                       "] (cluster.num_workers; 0: all of them)"));
  require(!synchronous || timeout == 0 ||
              (min_workers > 0 && min_workers < num_workers),
          "min_workers", min_workers,
          "must be above 0 and below cluster.num_workers with "
          "consistency.step_timeout_seconds, which otherwise has no effect");
  require(
      !synchronous || timeout > 0 || min_workers == 0, "min_workers",
      min_workers,
      "needs consistency.step_timeout_seconds above 0 when consistency.mode "
      "is SYNCHRONOUS");
  require(consistency.local_steps() <= 1 || config.has_worker_optimizer(),
          "local_steps", consistency.local_steps(),
          "must be 1 without worker_optimizer, whose steps a worker takes "
          "between two pushes");
  const int delay = consistency.answer_delay();
  require(delay == 0 || delay < consistency.local_steps(), "answer_delay",
          delay,
          absl::StrCat("must be below consistency.local_steps, ",
                       consistency.local_steps(),
                       ": the next push needs the answer"));
  require(
      delay == 0 || HasExternalModel(config), "answer_delay", delay,
      "must be 0 unless model.name is \"external\": no other worker goes on "
      "while it waits");
  require(synchronous || consistency.digest_every() == 0, "digest_every",
          consistency.digest_every(),
          "must be 0 unless consistency.mode is SYNCHRONOUS: workers hold "
          "different weights");
}

}  // namespace ps
