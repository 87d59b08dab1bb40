// Limits the bytes that a server holds for each worker.
#ifndef SERVER_LIMITS_BYTE_CREDIT_H_
#define SERVER_LIMITS_BYTE_CREDIT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ps {

// A credit in bytes for each worker. Thread-safe.
class ByteCredit {
 public:
  // `held` names the counted messages, for errors: "pushes that wait".
  ByteCredit(std::string held, int num_workers, int64_t bytes_per_worker);

  // Counts these bytes until the last copy of the result is destroyed; the
  // result also keeps `owner` alive. A message of any length is accepted if no
  // other message of its worker is held. Errors: kUnavailable if the worker has
  // no credit left; the worker should try again.
  absl::StatusOr<std::shared_ptr<const void>> Take(
      int rank, int64_t bytes, std::shared_ptr<const void> owner = nullptr);
  // Like Take without a limit, for messages that cannot be refused.
  std::shared_ptr<const void> Count(
      int rank, int64_t bytes, std::shared_ptr<const void> owner = nullptr);

  int64_t bytes_per_worker() const { return bytes_per_worker_.load(); }
  // What is held already may exceed the new credit.
  void SetCredit(int64_t bytes_per_worker);

  // The bytes of this worker that are held now.
  int64_t held_bytes(int rank) const { return (*counts_)[rank].load(); }

 private:
  using Counts = std::vector<std::atomic<int64_t>>;

  // Returns the claim of bytes that are already counted.
  std::shared_ptr<const void> Claim(int rank, int64_t bytes,
                                    std::shared_ptr<const void> owner) const;

  const std::string held_;
  std::atomic<int64_t> bytes_per_worker_;
  // The counts are shared because results of Take may outlive this object.
  const std::shared_ptr<Counts> counts_;
};

}  // namespace ps

#endif  // SERVER_LIMITS_BYTE_CREDIT_H_
