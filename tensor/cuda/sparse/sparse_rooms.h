// Memory of the device that grows when more is asked for: of lists, and of what
// is selected.
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

// An array. One thread at a time.
template <class T>
class DeviceRoom {
 public:
  // At least `count` elements from now on; what was there is over if it grows,
  // and then all streams are waited for. Errors: kResourceExhausted, after
  // which there is no room.
  absl::Status Reserve(SparseWork* work, int64_t count,
                       absl::string_view what) {
    if (count <= count_) return absl::OkStatus();
    // What is freed, or was free before, may still be worked on.
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

// Lists for the chunks of a vector: 0.75 bytes an element.
class ListRoom {
 public:
  // For n elements; otherwise as DeviceRoom.
  absl::Status Reserve(SparseWork* work, int64_t n, absl::string_view what);

  KeptLists lists() const;

 private:
  DeviceRoom<uint16_t> offsets_;
  DeviceRoom<float> values_;
  DeviceRoom<uint32_t> sizes_;
};

// 8 bytes an element.
class SelectionRoom {
 public:
  // For `count` elements; otherwise as DeviceRoom.
  absl::Status Reserve(SparseWork* work, int64_t count, absl::string_view what);

  uint32_t* indices() const { return indices_.get(); }
  float* values() const { return values_.get(); }
  DeviceSelection selection(int64_t count) const;

 private:
  DeviceRoom<uint32_t> indices_;
  DeviceRoom<float> values_;
};

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_SPARSE_ROOMS_H_
