// Device memory for lists and selections that grows on demand.
#ifndef TENSOR_CUDA_SPARSE_SPARSE_ROOMS_H_
#define TENSOR_CUDA_SPARSE_SPARSE_ROOMS_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "tensor/cuda/sparse/sparse_work.h"
#include "tensor/device_selection.h"

namespace ps {

// An array that grows on demand. Used by one thread at a time.
template <class T>
class DeviceRoom {
 public:
  // Ensures that there are at least `count` elements from now on. If the array
  // grows, its contents are lost and the call waits for all streams. Errors:
  // kResourceExhausted, after which the array is empty.
  absl::Status Reserve(SparseWork* work, int64_t count,
                       absl::string_view what) {
    if (count <= count_) return absl::OkStatus();
    // Queued work may still use memory that is freed here or was free before.
    PS_RETURN_IF_ERROR(work->streams().MakeCurrent());
    PS_RETURN_IF_ERROR(work->streams().AwaitAll());
    count_ = 0;
    data_.reset();
    PS_ASSIGN_OR_RETURN(data_, AllocateArray<T>(work->memory(), count, what));
    count_ = count;
    return absl::OkStatus();
  }

  T* get() const { return data_.get(); }

 private:
  std::shared_ptr<T> data_;
  int64_t count_ = 0;
};

// Lists for the chunks of a vector; 6 bytes per element listed, so 0.75 bytes
// per element of the vector unless `capacity` is another.
class ListRoom {
 public:
  // Makes room for n elements, of which `capacity` of each chunk are listed;
  // otherwise as DeviceRoom.
  absl::Status Reserve(SparseWork* work, int64_t n, absl::string_view what,
                       uint32_t capacity = kListCapacity);

  KeptLists lists() const;

 private:
  DeviceRoom<uint16_t> offsets_;
  DeviceRoom<float> values_;
  DeviceRoom<uint32_t> sizes_;
  uint32_t capacity_ = 0;
};

// A selection; 8 bytes per element.
class SelectionRoom {
 public:
  // Makes room for `count` elements; otherwise as DeviceRoom.
  absl::Status Reserve(SparseWork* work, int64_t count, absl::string_view what);

  uint32_t* indices() const { return indices_.get(); }
  float* values() const { return values_.get(); }
  // `count` elements, or a number that queued work writes to *device_count.
  DeviceSelection selection(int64_t count) const;
  DeviceSelection queued(const int64_t* device_count) const;

 private:
  DeviceRoom<uint32_t> indices_;
  DeviceRoom<float> values_;
  int64_t capacity_ = 0;
};

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_SPARSE_ROOMS_H_
