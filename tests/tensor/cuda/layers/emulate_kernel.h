// The layers' kernels on the host, block by block and thread by thread, with
// the same cores and the same barriers as on a device.
#ifndef TESTS_TENSOR_CUDA_LAYERS_EMULATE_KERNEL_H_
#define TESTS_TENSOR_CUDA_LAYERS_EMULATE_KERNEL_H_

#include <cstdint>
#include <functional>

namespace ps {

// The order in which the elements, blocks, and threads of a phase run. A kernel
// that is correct and deterministic on a device gives the same bits in every
// order.
enum class EmulatedOrder { kForward, kBackward };

// Runs the kernel with index `kernel` in AllKernels, with a copy of `core`, a
// core of that kernel's type. count: number of elements or blocks. May be
// called from any thread.
std::function<void(EmulatedOrder order)> EmulatedKernel(int kernel,
                                                        const void* core,
                                                        int64_t count);

}  // namespace ps

#endif  // TESTS_TENSOR_CUDA_LAYERS_EMULATE_KERNEL_H_
