// Sorting on the device. It must not use Abseil, since nvcc compiles it.
#ifndef TENSOR_CUDA_LAYER_DEVICE_SORT_KEYS_H_
#define TENSOR_CUDA_LAYER_DEVICE_SORT_KEYS_H_

#include <cstddef>
#include <cstdint>

namespace ps {

// Writes keys [n] to `sorted` in ascending order, on `stream`, a cudaStream_t
// of the current device. If `scratch` is null it only sets *scratch_bytes to
// the size it needs. Returns a cudaError_t; 0 is success.
int SortKeysOnDevice(const uint64_t* keys, int64_t n, uint64_t* sorted,
                     void* scratch, size_t* scratch_bytes, void* stream);

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_SORT_KEYS_H_
