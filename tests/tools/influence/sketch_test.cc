#include "tools/influence/sketch.h"

#include <cmath>
#include <vector>

#include "common/random.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using Floats = std::vector<float>;

Floats RandomVector(int64_t size, uint64_t seed) {
  RandomStream random(RandomKey(seed));
  Floats values(size);
  for (float& value : values) value = static_cast<float>(random.Normal());
  return values;
}

double Estimate(const SketchOptions& options, const Factors& a,
                const Factors& b) {
  const FactorSketch sketch(options);
  Floats sketch_a, sketch_b;
  sketch.Append(a, &sketch_a);
  sketch.Append(b, &sketch_b);
  EXPECT_EQ(static_cast<int64_t>(sketch_a.size()), sketch.size());
  return DotProduct(sketch_a, sketch_b);
}

class SketchTest : public testing::TestWithParam<bool> {};

// Over many draws the mean is the exact product, and the variance that of the
// formula, in which the bias is one more element of the activations.
TEST_P(SketchTest, MeanAndVarianceAreThoseOfTheFormula) {
  const bool with_bias = GetParam();
  SketchOptions options;
  options.outputs = 10;
  options.inputs = 40;
  options.with_bias = with_bias;
  options.size = 36;
  const Floats error_a = RandomVector(10, 1), error_b = RandomVector(10, 2);
  Floats activation_a = RandomVector(40, 3), activation_b = RandomVector(40, 4);
  // So that the exact product is not near 0.
  for (int i = 0; i < 40; ++i) activation_b[i] += activation_a[i];
  const Factors a = {error_a, activation_a}, b = {error_b, activation_b};
  const double exact = FactoredProduct(a, b, with_bias);
  const double bias = with_bias ? 1 : 0;
  const double e = DotProduct(error_a, error_b);
  const double f = DotProduct(activation_a, activation_b) + bias;
  const double errors =
      DotProduct(error_a, error_a) * DotProduct(error_b, error_b);
  const double activations = (DotProduct(activation_a, activation_a) + bias) *
                             (DotProduct(activation_b, activation_b) + bias);
  const double variance =
      (e * e + (errors + e * e) / 6) * (f * f + (activations + f * f) / 6) -
      e * e * f * f;
  constexpr int kDraws = 20000;
  double sum = 0, squares = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    options.key = draw + 1;
    const double error = Estimate(options, a, b) - exact;
    sum += error;
    squares += error * error;
  }
  EXPECT_NEAR(sum / kDraws, 0, 3 * std::sqrt(variance / kDraws));
  EXPECT_NEAR(squares / kDraws / variance, 1, 0.2);
}

INSTANTIATE_TEST_SUITE_P(Bias, SketchTest, testing::Bool());

TEST(Sketch, GradientThatFitsIsKeptAsItIs) {
  SketchOptions options;
  options.outputs = 3;
  options.inputs = 5;
  options.size = 18;
  EXPECT_EQ(FactorSketch(options).size(), 18);
  const Floats error = RandomVector(3, 1), activation = RandomVector(5, 2);
  const Factors factors = {error, activation};
  EXPECT_NEAR(Estimate(options, factors, factors) /
                  FactoredProduct(factors, factors, true),
              1, 1e-6);
  options.size = 17;
  EXPECT_EQ(FactorSketch(options).size(), 3 * 4);
}

TEST(Sketch, OtherKeysGiveOtherSketches) {
  SketchOptions options;
  options.outputs = 4;
  options.inputs = 9;
  options.size = 9;
  const Floats error = RandomVector(4, 1), activation = RandomVector(9, 2);
  const Factors factors = {error, activation};
  const double first = Estimate(options, factors, factors);
  EXPECT_EQ(Estimate(options, factors, factors), first);
  options.key = 1;
  EXPECT_NE(Estimate(options, factors, factors), first);
}

}  // namespace
}  // namespace ps
