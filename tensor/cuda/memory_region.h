// Cuts one region of memory into pieces, and takes them back.
//
// The region is not looked at: it may be a device's. So all of it is tested on
// machines without one.
#ifndef TENSOR_CUDA_MEMORY_REGION_H_
#define TENSOR_CUDA_MEMORY_REGION_H_

#include <cstdint>
#include <map>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/mutex.h"

namespace ps {

// First fit, from the lowest address on; neighbours that are free are one
// piece. Pieces live long (weights, activations, scratch), so a fast search
// would save nothing. Thread-safe: the last handle of a tensor may go in any
// thread.
class MemoryRegion {
 public:
  // Of every piece: enough for any vector load, and for a texture.
  static constexpr int64_t kAlignmentBytes = 256;

  // `base` keeps the region of `size_bytes` alive; aligned to kAlignmentBytes.
  MemoryRegion(std::shared_ptr<void> base, int64_t size_bytes);

  // A piece of size_bytes or a little more, not zeroed; 0 gives an address of
  // its own, too. `what` is for the message: "a tensor of shape [3]". Errors:
  // kResourceExhausted, with what is asked for and what is left.
  absl::StatusOr<void*> Allocate(int64_t size_bytes, absl::string_view what);

  // What Allocate gave, once.
  void Free(void* piece);

  int64_t size_bytes() const { return size_bytes_; }
  int64_t used_bytes() const;

 private:
  char* base() const { return static_cast<char*>(base_.get()); }

  const std::shared_ptr<void> base_;
  const int64_t size_bytes_;
  mutable Mutex mu_;
  // Sizes by offset; a free piece never touches another.
  std::map<int64_t, int64_t> free_ ABSL_GUARDED_BY(mu_);
  std::map<int64_t, int64_t> used_ ABSL_GUARDED_BY(mu_);
  int64_t used_bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace ps

#endif  // TENSOR_CUDA_MEMORY_REGION_H_
