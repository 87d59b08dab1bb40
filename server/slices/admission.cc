#include "server/slices/admission.h"

#include "absl/strings/str_cat.h"
#include "common/consistency.h"

namespace ps {

Admission::Admission(const SliceOptions& options) : options_(options) {
  progress_.counted.assign(options.config->cluster().num_workers(), -1);
}

std::optional<std::vector<WorkerPush>> Admission::Next(absl::Time now) {
  if (under_way_) return std::nullopt;
  std::optional<std::vector<WorkerPush>> pushes = Choose(now);
  under_way_ = pushes.has_value();
  return pushes;
}

void Admission::Applied(const SliceProgress& progress) {
  progress_ = progress;
  under_way_ = false;
  Counted();
}

absl::Status Admission::OutOfOrder(const WorkerPush& push) const {
  return absl::FailedPreconditionError(
      absl::StrCat("push for iteration ", push.iteration, " of worker ",
                   push.rank, "; this slice is at version ", version(), " of ",
                   options_.total_updates));
}

std::unique_ptr<Admission> NewAdmission(const SliceOptions& options) {
  if (UpdatesByEachPush(*options.config)) return NewStaleAdmission(options);
  return MayLeaveOut(*options.config) ? NewTimedAdmission(options)
                                      : NewStrictAdmission(options);
}

}  // namespace ps
