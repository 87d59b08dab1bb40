// Passes of batch normalisation over one matrix [rows, width] whose columns are
// channels, on one thread. Vectors of per-column parameters have `width`
// elements; sums are overwritten.
#ifndef TENSOR_CPU_CPU_BATCH_NORM_LOOPS_H_
#define TENSOR_CPU_CPU_BATCH_NORM_LOOPS_H_

#include <cstdint>

namespace ps {

struct MatrixSize {
  int64_t rows = 0;
  int64_t width = 0;
};

// Computes per column the sums of (x - shift) and (x - shift)^2. A shift that
// is close to the mean, relative to the deviation, keeps the variance free of
// cancellation.
void SumShifted(const float* x, const MatrixSize& size, const float* shift,
                double* sum, double* sum_squares);

// The steps after x * scale + offset.
struct NormTail {
  // [rows, width], which is added; null if there is none.
  const float* residual = nullptr;
  bool relu = false;
};

// Computes y = x * scale + offset, then the tail. y may be x or the residual.
void Normalize(const float* x, const MatrixSize& size, const float* scale,
               const float* offset, const NormTail& tail, float* y);

// The elements whose gradient passes through the ReLU.
enum class NormMask {
  kNone,       // No ReLU.
  kFromInput,  // Elements where x * scale + offset is above 0.
  // Elements where y is above 0; SumGradients clears dy everywhere else.
  kFromOutput,
};

struct NormGradient {
  const float* x = nullptr;
  const float* y = nullptr;  // For kFromOutput.
  float* dy = nullptr;
  const float* scale = nullptr;  // For kFromInput, like the offset.
  const float* offset = nullptr;
  NormMask mask = NormMask::kNone;
};

// Computes per column, with g the gradient that passes through the ReLU, the
// sums of g and of g * (x - mean).
void SumGradients(const NormGradient& gradient, const MatrixSize& size,
                  const float* mean, double* sum, double* sum_products);

// Computes dx = g * of_gradient + x * of_input + constant. dx may be dy. Not
// for kFromOutput: by then SumGradients has cleared dy.
struct NormInputGradient {
  const float* of_gradient = nullptr;
  const float* of_input = nullptr;
  const float* constant = nullptr;
};
void FindInputGradient(const NormGradient& gradient, const MatrixSize& size,
                       const NormInputGradient& factors, float* dx);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_BATCH_NORM_LOOPS_H_
