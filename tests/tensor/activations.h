// Activations for tests of operations: random values, and conversion to and
// from a backend's own layouts.
#ifndef TESTS_TENSOR_ACTIVATIONS_H_
#define TESTS_TENSOR_ACTIVATIONS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "tensor/backend.h"
#include "tensor/nn_kernels.h"
#include "tests/tensor/reference_ops.h"

namespace ps {

// Returns a CPU backend; fails the test if it cannot be made.
std::unique_ptr<Backend> CpuBackendForTest(int num_threads = 1);

// `n` values uniform in [-1, 1), a pure function of `seed`.
std::vector<float> RandomValues(int64_t n, uint64_t seed);

// `n` values with |x| of at least 0.05 that differ from each other by at least
// 0.1, so that no value is near a kink of ReLU or maximum.
std::vector<float> SeparatedValues(int64_t n, uint64_t seed);

// [batch, channels, height, width] in the layout of a convolution's output.
ActivationDesc ConvolutionLayout(NnKernels& nn, const Shape& shape);

// Converts plain values to the activation's layout, and back.
std::vector<float> ToLayout(NnKernels& nn, const ActivationDesc& activation,
                            const std::vector<float>& plain);
std::vector<float> ToPlain(NnKernels& nn, const ActivationDesc& activation,
                           const std::vector<float>& values);

ReferenceTensor ToReference(const Shape& shape,
                            const std::vector<float>& plain);

// sum_i a[i] b[i]: as a function of an operation's output b, its gradient is a.
double Dot(const std::vector<float>& a, const std::vector<double>& b);

// Expects every element to be within `tolerance`.
void ExpectClose(const std::vector<float>& actual,
                 const std::vector<double>& expected, double tolerance);

}  // namespace ps

#endif  // TESTS_TENSOR_ACTIVATIONS_H_
