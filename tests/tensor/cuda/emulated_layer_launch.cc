// Replaces the layers' .cu files: queues their kernels on streams of the
// emulated device.
#ifdef PS_HAVE_CUDA

#include <algorithm>
#include <cstring>
#include <utility>

#include "tensor/cuda/axpy.h"
#include "tensor/cuda/layer_device/launch_kernel.h"
#include "tensor/cuda/layer_device/sort_keys.h"
#include "tests/tensor/cuda/emulated_device.h"
#include "tests/tensor/cuda/layers/emulate_kernel.h"

namespace ps {

int LaunchKernel(int kernel, const void* core, int64_t count, void* stream) {
  return QueueOnEmulatedStream(
      static_cast<cudaStream_t>(stream),
      [run = EmulatedKernel(kernel, core, count)] {
        run(EmulatedThreadOrder() == ThreadOrder::kForward
                ? EmulatedOrder::kForward
                : EmulatedOrder::kBackward);
      });
}

int SortKeysOnDevice(const uint64_t* keys, int64_t n, uint64_t* sorted,
                     void* scratch, size_t* scratch_bytes, void* stream) {
  const size_t needed = static_cast<size_t>(n) * sizeof(uint64_t);
  if (scratch == nullptr) {
    *scratch_bytes = needed;
    return cudaSuccess;
  }
  if (*scratch_bytes < needed) return cudaErrorInvalidValue;
  return QueueOnEmulatedStream(static_cast<cudaStream_t>(stream),
                               [keys, n, sorted, scratch, needed] {
                                 // Overwrites the scratch, as a device does.
                                 std::memset(scratch, 0xff, needed);
                                 std::copy_n(keys, n, sorted);
                                 std::sort(sorted, sorted + n);
                               });
}

// For the self-check, which no test of an emulated device runs.
int AxpyOnDevice(float, const float*, int64_t, float*) {
  return cudaErrorNotSupported;
}

}  // namespace ps

#endif  // PS_HAVE_CUDA
