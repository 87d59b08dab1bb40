#include "server/limits/byte_credit.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace ps {

ByteCredit::ByteCredit(std::string held, int num_workers,
                       int64_t bytes_per_worker)
    : held_(std::move(held)),
      bytes_per_worker_(bytes_per_worker),
      counts_(std::make_shared<Counts>(num_workers)) {}

void ByteCredit::SetCredit(int64_t bytes_per_worker) {
  bytes_per_worker_.store(bytes_per_worker);
}

absl::StatusOr<std::shared_ptr<const void>> ByteCredit::Take(
    int rank, int64_t bytes, std::shared_ptr<const void> owner) {
  std::atomic<int64_t>& count = (*counts_)[rank];
  const int64_t before = count.fetch_add(bytes);
  if (before > 0 && before + bytes > bytes_per_worker()) {
    count.fetch_sub(bytes);
    return absl::UnavailableError(
        absl::StrCat("worker ", rank, " has ", before, " bytes of ", held_,
                     "; ", bytes, " more would exceed the ", bytes_per_worker(),
                     " that it may have (see cluster.credit_megabytes)"));
  }
  return Claim(rank, bytes, std::move(owner));
}

std::shared_ptr<const void> ByteCredit::Count(
    int rank, int64_t bytes, std::shared_ptr<const void> owner) {
  (*counts_)[rank].fetch_add(bytes);
  return Claim(rank, bytes, std::move(owner));
}

std::shared_ptr<const void> ByteCredit::Claim(
    int rank, int64_t bytes, std::shared_ptr<const void> owner) const {
  const void* const kept = owner.get();
  return std::shared_ptr<const void>(
      kept, [counts = counts_, rank, bytes,
             owner = std::move(owner)](const void*) mutable {
        owner.reset();
        (*counts)[rank].fetch_sub(bytes);
      });
}

}  // namespace ps
