// Layers that compute with bfloat16 against the CPU's floats. What goes in has
// bfloat16's values, so that products and sums of it are as exact as the CPU's:
// what differs is what is rounded when it is stored, and how often.
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

// Rounding to 8 bits changes a number by at most this part of it.
inline constexpr double kRounding = 1.0 / 256;
// Sums in floats, in another order.
inline constexpr double kFloatError = 1e-5;

// Those of BackendNames() that compute with bfloat16.
std::vector<std::string> Bf16BackendNames();

// `n` values of bfloat16 in [-1, 1], a pure function of `seed`.
std::vector<float> RandomBf16(int64_t n, uint64_t seed);

// Each element was rounded once, and is a bfloat16.
void ExpectRoundedOnce(const std::vector<float>& actual,
                       const std::vector<float>& expected);

// `roundings` of numbers that are no larger than the largest here.
void ExpectRounded(const std::vector<float>& actual,
                   const std::vector<float>& expected, double roundings);

// A TEST_P of it, instantiated with Bf16BackendNames(), runs on each of them.
class Bf16Layers : public testing::TestWithParam<std::string>,
                   public BackendFixture {
 protected:
  void SetUp() override;

  NnKernels& nn() { return bf16_->nn(); }
  NnKernels& cpu_nn() { return cpu_->nn(); }

  // An activation of this shape as layers with weights give it.
  ActivationDesc Laid(const Shape& shape);

  // What is plain of an operation's results.
  struct Results {
    std::vector<float> y;
    std::vector<float> dx;
    std::vector<float> dweight;
    std::vector<float> dbias;
  };

  // Forward and backward, of x and a random gradient.
  static Results RunUnary(NnKernels& nn, UnaryOp& op,
                          const ActivationDesc& input,
                          const std::vector<float>& x);

  using UnaryPlanner = std::function<absl::StatusOr<std::unique_ptr<UnaryOp>>(
      NnKernels&, const ActivationDesc&)>;

  // Forward and backward of both, from the same input.
  void CompareUnary(const Shape& shape, const UnaryPlanner& plan,
                    const std::function<void(const Results& actual,
                                             const Results& expected)>& check);
  // Results that are rounded once.
  void CompareUnary(const Shape& shape, const UnaryPlanner& plan);

  // Forward, and backward twice, of random values.
  static Results RunAffine(NnKernels& nn, AffineOp& op,
                           const ActivationDesc& input, int64_t num_weights,
                           int64_t num_biases);
  void CheckAffine(const Results& actual, const Results& expected) const;

  std::unique_ptr<Backend> bf16_;
  std::unique_ptr<Backend> cpu_;
};

}  // namespace ps

#endif  // TESTS_TENSOR_BF16_LAYERS_H_
