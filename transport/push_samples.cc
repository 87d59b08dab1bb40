#include "transport/push_samples.h"

#include "absl/strings/str_cat.h"
#include "common/consistency.h"

namespace ps {

absl::Status CheckPushSamples(const JobConfig& config, int64_t samples) {
  if (samples == 0) return absl::OkStatus();
  if (samples < 0 || samples > kMaxPushSamples) {
    return absl::InvalidArgumentError(
        absl::StrCat("a push is from ", samples, " samples; must be from 1 to ",
                     kMaxPushSamples));
  }
  const ConsistencyConfig& consistency = config.consistency();
  if (UpdatesByEachPush(config)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a push tells its samples, and consistency.mode is ",
        ConsistencyConfig::Mode_Name(consistency.mode()),
        "; must be SYNCHRONOUS, in which an update is a mean over workers"));
  }
  if (consistency.mean() == ConsistencyConfig::SENDERS) {
    return absl::InvalidArgumentError(
        "a push tells its samples, and consistency.mean is SENDERS; must be "
        "WORKERS, whose mean they weigh");
  }
  if (config.optimizer().majority_vote()) {
    return absl::InvalidArgumentError(
        "a push tells its samples, and optimizer.majority_vote is set; votes "
        "have no weights");
  }
  return absl::OkStatus();
}

}  // namespace ps
