// Splits one region of memory into pieces, and takes them back. For debugging,
// each piece is an allocation of its own instead.
//
// The memory itself is never accessed, since it may be a device's. So this
// class can be fully tested on machines without a device.
#ifndef TENSOR_CUDA_MEMORY_REGION_H_
#define TENSOR_CUDA_MEMORY_REGION_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/mutex.h"

namespace ps {

// First fit, from the lowest address; adjacent free pieces are merged. Pieces
// live long (weights, activations, scratch), so a fast search would save
// nothing. Thread-safe, since the last handle of a tensor may be dropped in any
// thread.
class MemoryRegion {
 public:
  // Alignment of every piece: enough for any vector load, and for a texture.
  static constexpr int64_t kAlignmentBytes = 256;

  // `base` keeps the region of `size_bytes` alive, and is aligned to
  // kAlignmentBytes.
  MemoryRegion(std::shared_ptr<void> base, int64_t size_bytes);

  // Makes memory that is aligned to kAlignmentBytes and freed with the last
  // handle.
  using Allocator =
      std::function<absl::StatusOr<std::shared_ptr<void>>(int64_t size_bytes)>;
  // Each piece is separate memory of exactly the requested size, at least 1
  // byte, so that tools that check accesses, such as compute-sanitizer, find
  // those between pieces. A region of the same size would hold all pieces of
  // one time.
  MemoryRegion(Allocator allocate, int64_t size_bytes);

  // A piece of size_bytes or slightly more, not zeroed; a size of 0 also gives
  // a unique address. `what` is for the message: "a tensor of shape [3]".
  // Errors: kResourceExhausted, with the requested and the remaining size.
  absl::StatusOr<void*> Allocate(int64_t size_bytes, absl::string_view what);

  // Frees a piece that Allocate returned; once for each piece. Separate memory
  // is given back at once, so its allocator must wait for work that uses it.
  void Free(void* piece);

  int64_t size_bytes() const { return size_bytes_; }
  int64_t used_bytes() const;

 private:
  char* base() const { return static_cast<char*>(base_.get()); }

  const std::shared_ptr<void> base_;
  const Allocator allocate_;  // Null: pieces of base_.
  const int64_t size_bytes_;
  mutable Mutex mu_;
  // Sizes by offset; no two free pieces are adjacent.
  std::map<int64_t, int64_t> free_ ABSL_GUARDED_BY(mu_);
  std::map<int64_t, int64_t> used_ ABSL_GUARDED_BY(mu_);
  // Separate memory, and the size for which it counts, by address.
  struct Piece {
    std::shared_ptr<void> memory;
    int64_t size_bytes = 0;
  };
  std::map<void*, Piece> separate_ ABSL_GUARDED_BY(mu_);
  int64_t used_bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace ps

#endif  // TENSOR_CUDA_MEMORY_REGION_H_
