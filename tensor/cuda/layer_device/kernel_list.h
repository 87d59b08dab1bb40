// Numbers for types: they identify a kernel's core where its type is lost,
// between a layer and the device that runs it.
#ifndef TENSOR_CUDA_LAYER_DEVICE_KERNEL_LIST_H_
#define TENSOR_CUDA_LAYER_DEVICE_KERNEL_LIST_H_

#include <type_traits>

namespace ps {

template <typename... Cores>
struct KernelList {
  static constexpr int kSize = sizeof...(Cores);

  // The index of the core, whose type must be in the list.
  template <typename Core>
  static constexpr int IndexOf() {
    static_assert((std::is_same_v<Core, Cores> || ...),
                  "the core is not in tensor/cuda/layer_device/all_kernels.h");
    int index = 0;
    ((std::is_same_v<Core, Cores> ? false : (++index, true)) && ...);
    return index;
  }
};

// Joins several lists into one.
template <typename... Lists>
struct JoinKernels;
template <typename... Cores>
struct JoinKernels<KernelList<Cores...>> {
  using Type = KernelList<Cores...>;
};
template <typename... First, typename... Second, typename... Rest>
struct JoinKernels<KernelList<First...>, KernelList<Second...>, Rest...> {
  using Type =
      typename JoinKernels<KernelList<First..., Second...>, Rest...>::Type;
};
template <typename... Lists>
using JoinedKernels = typename JoinKernels<Lists...>::Type;

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_KERNEL_LIST_H_
