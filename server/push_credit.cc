#include "server/push_credit.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace ps {

PushCredit::PushCredit(int num_workers, int64_t bytes_per_worker)
    : bytes_per_worker_(bytes_per_worker),
      held_(std::make_shared<Counts>(num_workers)) {}

void PushCredit::Raise(int64_t bytes_per_worker) {
  int64_t now = bytes_per_worker_.load();
  while (now < bytes_per_worker &&
         !bytes_per_worker_.compare_exchange_weak(now, bytes_per_worker)) {
  }
}

absl::StatusOr<std::shared_ptr<const void>> PushCredit::Take(
    int rank, int64_t bytes, std::shared_ptr<const void> owner) {
  std::atomic<int64_t>& held = (*held_)[rank];
  const int64_t before = held.fetch_add(bytes);
  if (before > 0 && before + bytes > bytes_per_worker()) {
    held.fetch_sub(bytes);
    return absl::UnavailableError(absl::StrCat(
        "worker ", rank, " has ", before,
        " bytes of pushes waiting here and sends ", bytes,
        " more; cluster.credit_megabytes allows ", bytes_per_worker()));
  }
  const void* const kept = owner.get();
  return std::shared_ptr<const void>(
      kept, [counts = held_, rank, bytes,
             owner = std::move(owner)](const void*) mutable {
        owner.reset();
        (*counts)[rank].fetch_sub(bytes);
      });
}

}  // namespace ps
