// A limit on the bytes of each worker's pushes that a server holds.
#ifndef SERVER_PUSH_CREDIT_H_
#define SERVER_PUSH_CREDIT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"

namespace ps {

// Every worker counts its own pushes and stays within its credit; the push of a
// worker that exceeds it is refused. Thread-safe.
class PushCredit {
 public:
  PushCredit(int num_workers, int64_t bytes_per_worker);

  // Counts these bytes until the last copy of the result is destroyed; the
  // result also keeps `owner` alive. A message of any length is accepted if no
  // other message of its worker is held. Errors: kUnavailable if the worker has
  // no credit left; the worker should try again.
  absl::StatusOr<std::shared_ptr<const void>> Take(
      int rank, int64_t bytes, std::shared_ptr<const void> owner);

  int64_t bytes_per_worker() const { return bytes_per_worker_.load(); }
  // Raises the credit to at least this.
  void Raise(int64_t bytes_per_worker);

  // Bytes of this worker that are held now.
  int64_t held_bytes(int rank) const { return (*held_)[rank].load(); }

 private:
  using Counts = std::vector<std::atomic<int64_t>>;

  std::atomic<int64_t> bytes_per_worker_;
  // Shared because results of Take may outlive this object.
  const std::shared_ptr<Counts> held_;
};

}  // namespace ps

#endif  // SERVER_PUSH_CREDIT_H_
