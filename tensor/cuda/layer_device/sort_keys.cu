// Sorts with CUB's radix sort, which is stable and uses no atomics on values,
// so that the order of different keys does not depend on scheduling.

#include <cub/device/device_radix_sort.cuh>

#include "tensor/cuda/layer_device/sort_keys.h"

namespace ps {

int SortKeysOnDevice(const uint64_t* keys, int64_t n, uint64_t* sorted,
                     void* scratch, size_t* scratch_bytes, void* stream) {
  return cub::DeviceRadixSort::SortKeys(
      scratch, *scratch_bytes, keys, sorted, n, /*begin_bit=*/0,
      /*end_bit=*/64, static_cast<cudaStream_t>(stream));
}

}  // namespace ps
