// The number formats that layers compute with.
#ifndef TENSOR_PRECISION_H_
#define TENSOR_PRECISION_H_

namespace ps {

enum class Precision {
  // All numbers are 32-bit floats.
  kFp32,
  // Products and convolutions keep 10 bits of each factor's mantissa; otherwise
  // like FP32. CUDA only.
  kTf32,
  // Activations, their gradients and the factors of products are bfloat16.
  // Weights and their gradients, sums, normalisation statistics and the loss
  // stay 32-bit floats. CUDA only.
  kBf16,
};

// Returns the name as in training.precision.
inline const char* PrecisionName(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return "FP32";
    case Precision::kTf32:
      return "TF32";
    case Precision::kBf16:
      return "BF16";
  }
  return "unknown";
}

}  // namespace ps

#endif  // TENSOR_PRECISION_H_
