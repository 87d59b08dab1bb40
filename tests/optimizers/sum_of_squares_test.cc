#include "optimizers/sum_of_squares.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "tests/optimizers/optimizer_harness.h"

namespace ps {
namespace {

// The sizes are around those of the loop's lanes and chunks.
TEST(SumOfSquaresTest, EqualsTheSumInLongDouble) {
  for (const int64_t n : {0, 1, 15, 16, 17, 4095, 4096, 4097, 100003}) {
    const std::vector<float> x = RandomTrajectory(n, 0, n + 1).weights;
    for (const float scale : {1.0f, 0.3f}) {
      long double expected = 0;
      for (const float value : x) {
        const float scaled = value * scale;
        expected += static_cast<long double>(scaled) * scaled;
      }
      EXPECT_NEAR(SumOfSquares(x.data(), n, scale),
                  static_cast<double>(expected),
                  1e-13 * static_cast<double>(expected))
          << n;
    }
  }
}

TEST(SumOfSquaresTest, SquaresNeitherOverflowNorVanish) {
  const std::vector<float> huge(100, 3e38f);
  EXPECT_NEAR(SumOfSquares(huge.data(), 100) / 9e78, 1, 1e-6);
  const std::vector<float> tiny(100, 1e-44f);
  EXPECT_GT(SumOfSquares(tiny.data(), 100), 9e-87);
}

}  // namespace
}  // namespace ps
