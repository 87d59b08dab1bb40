// Host buffers that take turns: the device copies into one, the network sends
// from it, and it comes back when the last who reads it is done.
#ifndef TENSOR_CUDA_PINNED_RING_H_
#define TENSOR_CUDA_PINNED_RING_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace ps {

struct PinnedRingOptions {
  int num_buffers = 0;       // At least 1.
  int64_t buffer_bytes = 0;  // At least 1.
  // Memory for all buffers, aligned to at least 64 bytes, and its end. On a
  // machine with a device: memory that is pinned.
  std::function<absl::StatusOr<void*>(int64_t size_bytes)> allocate;
  std::function<void(void*)> free;
};

// Thread-safe. Buffers outlive the ring.
class PinnedRing {
 public:
  // Errors: kInvalidArgument, or those of `allocate`.
  static absl::StatusOr<std::unique_ptr<PinnedRing>> Create(
      const PinnedRingOptions& options);

  // A buffer of buffer_bytes() that goes back when the last copy of the handle
  // does, in whatever thread. The one that has been back for longest, whose
  // bytes nobody may still wish to look at in a debugger. Waits, at most
  // `timeout`, while all are out. Errors: kResourceExhausted.
  absl::StatusOr<std::shared_ptr<uint8_t[]>> Acquire(absl::Duration timeout);

  int64_t buffer_bytes() const;
  int num_free() const;

 private:
  struct State;

  explicit PinnedRing(std::shared_ptr<State> state);

  const std::shared_ptr<State> state_;  // Shared with the buffers that are out.
};

}  // namespace ps

#endif  // TENSOR_CUDA_PINNED_RING_H_
