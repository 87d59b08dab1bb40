// Computes scaled vectors and their sums over one chunk, on one thread. Every
// machine gets the same bits.
#ifndef TENSOR_CPU_CPU_SCALING_LOOPS_H_
#define TENSOR_CPU_CPU_SCALING_LOOPS_H_

#include <cstdint>

#include "tensor/sparse_kernels.h"

namespace ps {

// Computes out = x.scale x.data.
void ScaleChunk(const ScaledVector& x, int64_t n, float* out);

// Computes out = x.scale x.data + y.scale y.data.
void AddScaledChunk(const ScaledVector& x, const ScaledVector& y, int64_t n,
                    float* out);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_SCALING_LOOPS_H_
