// Checks gradients against central differences.
#ifndef TESTS_TENSOR_FINITE_DIFFERENCE_H_
#define TESTS_TENSOR_FINITE_DIFFERENCE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ps {

struct FiniteDifferenceOptions {
  // What the function's argument is called in a failure.
  std::string name;
  // Half of the distance between the two points.
  double step = 1e-3;
  // On |difference quotient - gradient|, relative to 1 + |gradient|.
  double tolerance = 1e-3;
  // Elements that are tried, evenly spread; all if there are not more.
  int64_t max_elements = 200;
};

// Expects gradient[i] = (f(at + step e_i) - f(at - step e_i)) / (2 step).
void ExpectGradient(
    const FiniteDifferenceOptions& options,
    const std::function<double(const std::vector<double>&)>& function,
    const std::vector<float>& at, const std::vector<float>& gradient);

}  // namespace ps

#endif  // TESTS_TENSOR_FINITE_DIFFERENCE_H_
