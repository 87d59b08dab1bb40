// Adding the bias of a linear layer, and sums over rows.
#ifndef TENSOR_CUDA_NN_BIAS_CORES_H_
#define TENSOR_CUDA_NN_BIAS_CORES_H_

#include <cstdint>

#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/kernel_core.h"

namespace ps {

// matrix[r, c] += bias[c]. Count: rows x columns.
template <typename T>
struct AddToRowsCore : ElementCore {
  static constexpr const char* kName = "AddToRows";
  Divisor columns;
  const float* bias;
  T* matrix;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    matrix[i] = matrix[i] + bias[columns.Remainder(i)];
  }
};

// Number of rows that one thread adds up.
inline constexpr int64_t kRowsPerPart = 64;

// partial[k, c]: the sum of the k-th group of kRowsPerPart rows in column c.
// Adjacent threads read adjacent columns. Count: parts x columns.
template <typename T>
struct SumRowsPartCore : ElementCore {
  static constexpr const char* kName = "SumRowsPart";
  Divisor columns;
  int64_t rows;
  const T* matrix;
  double* partial;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    int64_t column = 0;
    const int64_t part = columns.Divide(i, &column);
    const int64_t begin = part * kRowsPerPart;
    const int64_t end = Smaller(begin + kRowsPerPart, rows);
    double sum = 0;
    for (int64_t r = begin; r < end; ++r) {
      sum += matrix[r * columns.value() + column];
    }
    partial[i] = sum;
  }
};

// sums[c]: the sum of all parts, in their order. Count: columns.
struct SumPartsCore : ElementCore {
  static constexpr const char* kName = "SumParts";
  int64_t parts;
  int64_t columns;
  const double* partial;
  float* sums;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    double sum = 0;
    for (int64_t k = 0; k < parts; ++k) sum += partial[k * columns + i];
    sums[i] = static_cast<float>(sum);
  }
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_BIAS_CORES_H_
