// The layers' kernels on the host, block by block and thread by thread, with
// the same cores and the same barriers as on a device.
#ifndef TESTS_TENSOR_CUDA_LAYERS_EMULATE_KERNEL_H_
#define TESTS_TENSOR_CUDA_LAYERS_EMULATE_KERNEL_H_

#include <cstdint>
#include <functional>

namespace ps {

// The order in which the elements, blocks, and threads of a phase run. What is
// right and deterministic on a device gives the same bits in every order.
enum class EmulatedOrder { kForward, kBackward };

// Runs the kernel at place `kernel` of AllKernels, with a copy of `core`, which
// is of that kernel's type. count: elements or blocks. For any thread.
std::function<void(EmulatedOrder order)> EmulatedKernel(int kernel,
                                                        const void* core,
                                                        int64_t count);

}  // namespace ps

#endif  // TESTS_TENSOR_CUDA_LAYERS_EMULATE_KERNEL_H_
