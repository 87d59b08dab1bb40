// Sorting on the device. No Abseil here: nvcc compiles this.
#ifndef TENSOR_CUDA_LAYER_DEVICE_SORT_KEYS_H_
#define TENSOR_CUDA_LAYER_DEVICE_SORT_KEYS_H_

#include <cstddef>
#include <cstdint>

namespace ps {

// Writes keys [n] to `sorted` in ascending order, on the stream, a
// cudaStream_t, of the current device. With a null `scratch` it only sets
// *scratch_bytes to what it needs. Returns a cudaError_t; 0 is success.
int SortKeysOnDevice(const uint64_t* keys, int64_t n, uint64_t* sorted,
                     void* scratch, size_t* scratch_bytes, void* stream);

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_SORT_KEYS_H_
