// Computes ReLU over a vector, on one thread.
#ifndef TENSOR_CPU_CPU_RELU_LOOPS_H_
#define TENSOR_CPU_CPU_RELU_LOOPS_H_

#include <cstdint>

namespace ps {

// Computes y[i] = max(0, x[i]). A NaN stays NaN, so that later checks can find
// it. y may be x.
void Relu(const float* x, int64_t n, float* y);

// Computes dx[i] = dy[i] where y[i] is above 0 or NaN; else 0. dx may be dy.
void ReluGradient(const float* y, const float* dy, int64_t n, float* dx);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_RELU_LOOPS_H_
