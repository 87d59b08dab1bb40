#include "tensor/cuda/sparse/sparse_rooms.h"

#include "common/status_macros.h"

namespace ps {

absl::Status ListRoom::Reserve(SparseWork* work, int64_t n,
                               absl::string_view what, uint32_t capacity) {
  const int64_t chunks = NumSparseChunks(n);
  const int64_t listed = chunks * capacity;
  capacity_ = capacity;
  PS_RETURN_IF_ERROR(offsets_.Reserve(work, listed, what));
  PS_RETURN_IF_ERROR(values_.Reserve(work, listed, what));
  return sizes_.Reserve(work, chunks, what);
}

KeptLists ListRoom::lists() const {
  KeptLists lists;
  lists.capacity = capacity_;
  lists.offsets = offsets_.get();
  lists.values = values_.get();
  lists.sizes = sizes_.get();
  return lists;
}

absl::Status SelectionRoom::Reserve(SparseWork* work, int64_t count,
                                    absl::string_view what) {
  capacity_ = 0;
  PS_RETURN_IF_ERROR(indices_.Reserve(work, count, what));
  PS_RETURN_IF_ERROR(values_.Reserve(work, count, what));
  capacity_ = count;
  return absl::OkStatus();
}

DeviceSelection SelectionRoom::selection(int64_t count) const {
  DeviceSelection selection;
  selection.indices = indices_.get();
  selection.values = values_.get();
  selection.capacity = capacity_;
  selection.count = count;
  return selection;
}

DeviceSelection SelectionRoom::queued(const int64_t* device_count) const {
  DeviceSelection selection = this->selection(0);
  selection.device_count = device_count;
  return selection;
}

}  // namespace ps
