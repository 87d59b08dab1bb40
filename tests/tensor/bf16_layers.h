// Compares layers that compute with bfloat16 to the CPU's floats. The inputs
// have values of bfloat16, so that products and sums of them are as exact as
// the CPU's. Differences come only from rounding what is stored, and depend on
// how often that happens.
#ifndef TESTS_TENSOR_BF16_LAYERS_H_
#define TESTS_TENSOR_BF16_LAYERS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "tensor/backend.h"
#include "tensor/nn_kernels.h"
#include "tests/tensor/every_backend.h"

namespace ps {

// Rounding to 8 bits changes a number by at most this fraction of it.
inline constexpr double kRounding = 1.0 / 256;
// Allowance for float sums in another order.
inline constexpr double kFloatError = 1e-5;

// The backends in BackendNames() that compute with bfloat16.
std::vector<std::string> Bf16BackendNames();

// `n` bfloat16 values in [-1, 1], a pure function of `seed`.
std::vector<float> RandomBf16(int64_t n, uint64_t seed);

// Expects each element to be a bfloat16 that was rounded once.
void ExpectRoundedOnce(const std::vector<float>& actual,
                       const std::vector<float>& expected);

// The error of `roundings` roundings of numbers up to the largest here.
void ExpectRounded(const std::vector<float>& actual,
                   const std::vector<float>& expected, double roundings);

// A TEST_P of this class, instantiated with Bf16BackendNames(), runs on each of
// them.
class Bf16Layers : public testing::TestWithParam<std::string>,
                   public BackendFixture {
 protected:
  void SetUp() override;

  NnKernels& nn() { return bf16_->nn(); }
  NnKernels& cpu_nn() { return cpu_->nn(); }

  // An activation of this shape, in the layout of the output of layers with
  // weights.
  ActivationDesc Laid(const Shape& shape);

  // The results of an operation, in plain order.
  struct Results {
    std::vector<float> y;
    std::vector<float> dx;
    std::vector<float> dweight;
    std::vector<float> dbias;
  };

  // Runs forward, and backward with a random gradient.
  static Results RunUnary(NnKernels& nn, UnaryOp& op,
                          const ActivationDesc& input,
                          const std::vector<float>& x);

  using UnaryPlanner = std::function<absl::StatusOr<std::unique_ptr<UnaryOp>>(
      NnKernels&, const ActivationDesc&)>;

  // Runs forward and backward on both backends, from the same input.
  void CompareUnary(const Shape& shape, const UnaryPlanner& plan,
                    const std::function<void(const Results& actual,
                                             const Results& expected)>& check);
  // Compares results that are rounded once.
  void CompareUnary(const Shape& shape, const UnaryPlanner& plan);

  // Runs forward, and backward twice, with random values.
  static Results RunAffine(NnKernels& nn, AffineOp& op,
                           const ActivationDesc& input, int64_t num_weights,
                           int64_t num_biases);
  void CheckAffine(const Results& actual, const Results& expected) const;

  std::unique_ptr<Backend> bf16_;
  std::unique_ptr<Backend> cpu_;
};

}  // namespace ps

#endif  // TESTS_TENSOR_BF16_LAYERS_H_
