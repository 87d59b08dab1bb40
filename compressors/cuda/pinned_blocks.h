// Pinned memory of the host that payloads lie in until they have been sent.
//
// Includes CUDA's headers: only for libraries that are built with the CUDA
// toolkit.
#ifndef COMPRESSORS_CUDA_PINNED_BLOCKS_H_
#define COMPRESSORS_CUDA_PINNED_BLOCKS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/status_macros.h"
#include "tensor/cuda/cuda_memory.h"

namespace ps {

// For use by one thread at a time, but any thread may drop a block, even after
// this object is gone.
class PinnedBlocks {
 public:
  // Returns a block of at least `size_bytes` bytes that is not in use, and
  // allocates one if there is none. Unused blocks that are too small are
  // released. No queued work may use a block when its last handle is dropped.
  absl::StatusOr<std::shared_ptr<uint8_t[]>> Acquire(int64_t size_bytes) {
    for (const Block& block : blocks_) {
      if (block.size >= size_bytes && IsUnused(block)) return block.bytes;
    }
    blocks_.erase(std::remove_if(blocks_.begin(), blocks_.end(),
                                 [size_bytes](const Block& block) {
                                   return block.size < size_bytes &&
                                          IsUnused(block);
                                 }),
                  blocks_.end());
    Block block;
    block.size = size_bytes;
    PS_ASSIGN_OR_RETURN(block.bytes, AllocatePinnedBytes(size_bytes));
    blocks_.push_back(block);
    return block.bytes;
  }

 private:
  struct Block {
    std::shared_ptr<uint8_t[]> bytes;
    int64_t size = 0;
  };

  static bool IsUnused(const Block& block) {
    if (block.bytes.use_count() != 1) return false;
    // As in PayloadBuffer::unique: the last reader's reads come before this.
    const std::shared_ptr<uint8_t[]> acquire = block.bytes;
    return true;
  }

  std::vector<Block> blocks_;
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_PINNED_BLOCKS_H_
