#include "server/slices/weight_slice.h"

#include "absl/strings/str_cat.h"

namespace ps {

absl::Status NotInitialized() {
  return absl::FailedPreconditionError(
      "the weights have not been initialised; worker 0 does that when it "
      "starts");
}

absl::Status CheckPull(int64_t iterations, const SliceOptions& options) {
  if (iterations >= 0 && iterations <= options.total_updates) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("weights after ", iterations,
                                                 " iterations; the job has ",
                                                 options.total_updates));
}

absl::Status CheckFirstWeights(uint64_t digest, uint64_t first_digest) {
  if (digest == first_digest) return absl::OkStatus();
  return absl::FailedPreconditionError("this slice already has other weights");
}

}  // namespace ps
