#include "tests/tensor/finite_difference.h"

#include <algorithm>
#include <cmath>

#include "gtest/gtest.h"

namespace ps {

void ExpectGradient(
    const FiniteDifferenceOptions& options,
    const std::function<double(const std::vector<double>&)>& function,
    const std::vector<float>& at, const std::vector<float>& gradient) {
  ASSERT_EQ(at.size(), gradient.size()) << options.name;
  ASSERT_FALSE(at.empty()) << options.name;
  const int64_t n = static_cast<int64_t>(at.size());
  const int64_t tried = std::min(n, options.max_elements);
  std::vector<double> point(at.begin(), at.end());
  for (int64_t k = 0; k < tried; ++k) {
    const int64_t i = k * n / tried;
    const double middle = point[i];
    point[i] = middle + options.step;
    const double above = function(point);
    point[i] = middle - options.step;
    const double below = function(point);
    point[i] = middle;
    const double quotient = (above - below) / (2 * options.step);
    EXPECT_NEAR(quotient, gradient[i],
                options.tolerance * (1 + std::abs(gradient[i])))
        << options.name << "[" << i << "]";
  }
}

}  // namespace ps
