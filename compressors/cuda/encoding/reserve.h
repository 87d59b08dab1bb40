// A device array that grows to the largest size ever needed.
//
// Includes CUDA's headers: only for libraries that are built with the CUDA
// toolkit.
#ifndef COMPRESSORS_CUDA_ENCODING_RESERVE_H_
#define COMPRESSORS_CUDA_ENCODING_RESERVE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/sparse/sparse_work.h"

namespace ps {

template <class T>
class Reserve {
 public:
  T* get() const { return data_.get(); }

  // The contents are lost if the array has to grow.
  absl::Status AtLeast(int64_t count, SparseWork* work) {
    if (count <= size_) return absl::OkStatus();
    // Grow by half as much again: selections vary a little from one to the
    // next.
    const int64_t size = data_ == nullptr ? count : count + count / 2;
    data_.reset();
    size_ = 0;
    PS_ASSIGN_OR_RETURN(
        data_, AllocateArray<T>(
                   work->memory(), size,
                   absl::StrCat("payloads of ", count * sizeof(T), " bytes")));
    size_ = size;
    // The previous owner's work may still use this memory.
    return work->streams().AwaitAll();
  }

 private:
  std::shared_ptr<T> data_;
  int64_t size_ = 0;
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_ENCODING_RESERVE_H_
