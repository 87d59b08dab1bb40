// How much of each worker's pushes a server holds at most.
#ifndef SERVER_PUSH_CREDIT_H_
#define SERVER_PUSH_CREDIT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"

namespace ps {

// Workers count for themselves and stay within their credit; who does not is
// refused. Thread-safe.
class PushCredit {
 public:
  PushCredit(int num_workers, int64_t bytes_per_worker);

  // Counts these bytes until the last copy of the result is gone, which also
  // keeps `owner`. A message is let in where nothing else of its worker is
  // held, however long it is. Errors: kUnavailable, to be tried again, when the
  // worker has no credit left.
  absl::StatusOr<std::shared_ptr<const void>> Take(
      int rank, int64_t bytes, std::shared_ptr<const void> owner);

  int64_t bytes_per_worker() const { return bytes_per_worker_.load(); }
  // From now on not less than this.
  void Raise(int64_t bytes_per_worker);

  // Held now.
  int64_t held_bytes(int rank) const { return (*held_)[rank].load(); }

 private:
  using Counts = std::vector<std::atomic<int64_t>>;

  std::atomic<int64_t> bytes_per_worker_;
  // What is given out may outlive this.
  const std::shared_ptr<Counts> held_;
};

}  // namespace ps

#endif  // SERVER_PUSH_CREDIT_H_
