#include "tensor/cuda/memory_region.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "glog/logging.h"

namespace ps {

MemoryRegion::MemoryRegion(std::shared_ptr<void> base, int64_t size_bytes)
    : base_(std::move(base)),
      size_bytes_(size_bytes / kAlignmentBytes * kAlignmentBytes) {
  CHECK_EQ(reinterpret_cast<uintptr_t>(base_.get()) % kAlignmentBytes, 0u);
  if (size_bytes_ > 0) free_[0] = size_bytes_;
}

MemoryRegion::MemoryRegion(Allocator allocate, int64_t size_bytes)
    : allocate_(std::move(allocate)),
      size_bytes_(size_bytes / kAlignmentBytes * kAlignmentBytes) {}

absl::StatusOr<void*> MemoryRegion::Allocate(int64_t size_bytes,
                                             absl::string_view what) {
  CHECK_GE(size_bytes, 0);
  MutexLock lock(&mu_);
  // Compared before rounding up, which may overflow.
  const int64_t rounded =
      size_bytes > size_bytes_
          ? size_bytes
          : std::max<int64_t>(
                1, (size_bytes + kAlignmentBytes - 1) / kAlignmentBytes) *
                kAlignmentBytes;
  if (allocate_ != nullptr && rounded <= size_bytes_ - used_bytes_) {
    PS_ASSIGN_OR_RETURN(std::shared_ptr<void> memory,
                        allocate_(std::max<int64_t>(size_bytes, 1)));
    void* const piece = memory.get();
    separate_[piece] = {std::move(memory), rounded};
    used_bytes_ += rounded;
    return piece;
  }
  int64_t largest = 0;
  for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
    const auto [offset, size] = *piece;
    largest = std::max(largest, size);
    if (size < rounded) continue;
    free_.erase(piece);
    if (size > rounded) free_[offset + rounded] = size - rounded;
    used_[offset] = rounded;
    used_bytes_ += rounded;
    return base() + offset;
  }
  const int64_t left = size_bytes_ - used_bytes_;
  return absl::ResourceExhaustedError(absl::StrCat(
      "no memory for ", what, " (", size_bytes, " bytes): of ", size_bytes_,
      " bytes of the device ", left, " are free, ",
      allocate_ == nullptr ? largest : left, " of them in one piece"));
}

void MemoryRegion::Free(void* piece) {
  std::shared_ptr<void> freed;  // After the lock is released.
  MutexLock lock(&mu_);
  if (const auto found = separate_.find(piece); found != separate_.end()) {
    freed = std::move(found->second.memory);
    used_bytes_ -= found->second.size_bytes;
    separate_.erase(found);
    return;
  }
  const auto used = used_.find(static_cast<char*>(piece) - base());
  CHECK(used != used_.end()) << "not a piece of this region";
  int64_t offset = used->first;
  int64_t size = used->second;
  used_.erase(used);
  used_bytes_ -= size;
  const auto next = free_.lower_bound(offset);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      offset = before->first;
      size += before->second;
      free_.erase(before);
    }
  }
  if (next != free_.end() && offset + size == next->first) {
    size += next->second;
    free_.erase(next);
  }
  free_[offset] = size;
}

int64_t MemoryRegion::used_bytes() const {
  MutexLock lock(&mu_);
  return used_bytes_;
}

}  // namespace ps
