// Pinned memory of the host that payloads lie in until they have been sent.
//
// Includes CUDA's headers: only for libraries that are built with the CUDA
// toolkit.
#ifndef COMPRESSORS_CUDA_PINNED_BLOCKS_H_
#define COMPRESSORS_CUDA_PINNED_BLOCKS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/status_macros.h"
#include "tensor/cuda/cuda_memory.h"
#include "tensor/cuda/pinned_ring.h"

namespace ps {

// For use by one thread at a time, but any thread may drop a block, even after
// this object is gone.
class PinnedBlocks {
 public:
  // Returns a block of at least `size_bytes` bytes that is not in use, and
  // allocates one if there is none. Unused blocks that are too small are
  // released. No queued work may use a block when its last handle is dropped.
  absl::StatusOr<std::shared_ptr<uint8_t[]>> Acquire(int64_t size_bytes) {
    const auto is_small = [size_bytes](const Block& block) {
      return block->buffer_bytes() < size_bytes;
    };
    for (const Block& block : blocks_) {
      if (is_small(block)) continue;
      auto free = block->Acquire(absl::ZeroDuration());
      if (free.ok()) return free;
    }
    blocks_.erase(std::remove_if(blocks_.begin(), blocks_.end(),
                                 [&](const Block& block) {
                                   return is_small(block) &&
                                          block->num_free() == 1;
                                 }),
                  blocks_.end());
    PS_ASSIGN_OR_RETURN(Block block, NewPinnedRing(1, size_bytes));
    blocks_.push_back(std::move(block));
    return blocks_.back()->Acquire(absl::ZeroDuration());
  }

 private:
  using Block = std::unique_ptr<PinnedRing>;  // Of one buffer.

  std::vector<Block> blocks_;
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_PINNED_BLOCKS_H_
