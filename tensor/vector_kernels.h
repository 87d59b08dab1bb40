// The interface of operations on long vectors, for layers and local steps.
#ifndef TENSOR_VECTOR_KERNELS_H_
#define TENSOR_VECTOR_KERNELS_H_

#include <cstdint>

#include "absl/status/status.h"

namespace ps {

// The vector scale x data[i].
struct ScaledVector {
  const float* data = nullptr;
  float scale = 1;
};

// Vectors have fewer than 2^32 elements. Pointers are to the backend's memory.
class VectorKernels {
 public:
  virtual ~VectorKernels() = default;

  // Sets out[i] = scale x data[i].
  virtual absl::Status Scale(const ScaledVector& x, int64_t n, float* out) = 0;

  // Sets out[i] = x.scale x.data[i] + y.scale y.data[i]; products and sum are
  // each rounded to float. `out` may be x.data or y.data.
  virtual absl::Status AddScaled(const ScaledVector& x, const ScaledVector& y,
                                 int64_t n, float* out) = 0;

  // Sets u[i] = 0.
  virtual absl::Status Clear(float* u, int64_t n) = 0;
};

}  // namespace ps

#endif  // TENSOR_VECTOR_KERNELS_H_
