// Checks gradients against central differences.
#ifndef TESTS_TENSOR_FINITE_DIFFERENCE_H_
#define TESTS_TENSOR_FINITE_DIFFERENCE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ps {

struct FiniteDifferenceOptions {
  // The name of the function's argument in a failure.
  std::string name;
  // Half the distance between the two points.
  double step = 1e-3;
  // Bound on |difference quotient - gradient|, relative to 1 + |gradient|.
  double tolerance = 1e-3;
  // Maximum number of elements to test, evenly spaced.
  int64_t max_elements = 200;
};

// Expects gradient[i] = (f(at + step e_i) - f(at - step e_i)) / (2 step).
void ExpectGradient(
    const FiniteDifferenceOptions& options,
    const std::function<double(const std::vector<double>&)>& function,
    const std::vector<float>& at, const std::vector<float>& gradient);

}  // namespace ps

#endif  // TESTS_TENSOR_FINITE_DIFFERENCE_H_
