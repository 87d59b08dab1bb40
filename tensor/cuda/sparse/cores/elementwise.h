// Operations on one element at a time.
#ifndef TENSOR_CUDA_SPARSE_CORES_ELEMENTWISE_H_
#define TENSOR_CUDA_SPARSE_CORES_ELEMENTWISE_H_

#include <cstdint>

#include "tensor/cuda/sparse/cores/host_device.h"

namespace ps {

// out[i] = x_scale x[i] + y_scale y[i], or x_scale x[i] if y is null. Products
// and sum are each rounded. `out` may be x or y.
struct ScaledSum {
  const float* x = nullptr;
  float x_scale = 1;
  const float* y = nullptr;
  float y_scale = 1;
  float* out = nullptr;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    const float scaled = MultiplyRounded(x_scale, x[i]);
    out[i] = y == nullptr ? scaled
                          : AddRounded(scaled, MultiplyRounded(y_scale, y[i]));
  }
};

// values[i] = u[indices[i]].
struct GatherValues {
  const float* u = nullptr;
  const uint32_t* indices = nullptr;
  float* values = nullptr;

  PS_HOST_DEVICE void operator()(int64_t i) const { values[i] = u[indices[i]]; }
};

// u[indices[i]] = values[i]. No index may occur twice.
struct ScatterValues {
  const uint32_t* indices = nullptr;
  const float* values = nullptr;
  float* u = nullptr;

  PS_HOST_DEVICE void operator()(int64_t i) const { u[indices[i]] = values[i]; }
};

// u[indices[i]] += values[i], rounded. No index may occur twice.
struct AddValues {
  const uint32_t* indices = nullptr;
  const float* values = nullptr;
  float* u = nullptr;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    float& x = u[indices[i]];
    x = AddRounded(x, values[i]);
  }
};

// Elements 0 to n - 1, of which each of `num_blocks` blocks processes some.
template <class Block, class ForElement>
PS_HOST_DEVICE void ForEachElement(Block& block, int64_t block_index,
                                   int64_t num_blocks, int block_threads,
                                   int64_t n, ForElement for_element) {
  block.Phase([&](int thread) {
    for (int64_t i = block_index * block_threads + thread; i < n;
         i += num_blocks * block_threads) {
      for_element(i);
    }
  });
}

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_CORES_ELEMENTWISE_H_
