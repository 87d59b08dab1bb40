// Host buffers that are reused in turn: the device copies into one, the network
// sends from it, and it becomes free when its last reader is done.
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
  // Allocates the memory for all buffers, aligned to at least 64 bytes. On a
  // machine with a device this is pinned memory. `free` releases it.
  std::function<absl::StatusOr<void*>(int64_t size_bytes)> allocate;
  std::function<void(void*)> free;
};

// Thread-safe. Buffers outlive the ring.
class PinnedRing {
 public:
  // Errors: kInvalidArgument, or those of `allocate`.
  static absl::StatusOr<std::unique_ptr<PinnedRing>> Create(
      const PinnedRingOptions& options);

  // Returns a buffer of buffer_bytes(), which becomes free again when the last
  // copy of the handle is dropped, in any thread. The buffer that has been free
  // the longest is used first, so that recent contents can still be inspected
  // in a debugger. Waits up to `timeout` while all buffers are in use. Errors:
  // kResourceExhausted.
  absl::StatusOr<std::shared_ptr<uint8_t[]>> Acquire(absl::Duration timeout);

  int64_t buffer_bytes() const;
  int num_free() const;

 private:
  struct State;

  explicit PinnedRing(std::shared_ptr<State> state);

  const std::shared_ptr<State> state_;  // Shared with the buffers in use.
};

}  // namespace ps

#endif  // TENSOR_CUDA_PINNED_RING_H_
