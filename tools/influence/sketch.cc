#include "tools/influence/sketch.h"

#include <algorithm>
#include <cmath>

#include "absl/types/span.h"
#include "common/random.h"

namespace ps {
namespace {

int64_t GradientInputs(const SketchOptions& options) {
  return options.inputs + (options.with_bias ? 1 : 0);
}

bool IsExact(const SketchOptions& options) {
  return options.outputs * GradientInputs(options) <= options.size;
}

std::vector<float> Draw(int64_t rows, int64_t columns, uint64_t key) {
  RandomStream random(key);
  const double deviation = 1 / std::sqrt(static_cast<double>(rows));
  std::vector<float> matrix(rows * columns);
  for (float& element : matrix) {
    element = static_cast<float>(deviation * random.Normal());
  }
  return matrix;
}

std::vector<float> Multiply(const std::vector<float>& matrix, int64_t rows,
                            absl::Span<const float> vector) {
  std::vector<float> product;
  for (int64_t row = 0; row < rows; ++row) {
    product.push_back(static_cast<float>(DotProduct(
        absl::MakeConstSpan(matrix).subspan(row * vector.size(), vector.size()),
        vector)));
  }
  return product;
}

}  // namespace

FactorSketch::FactorSketch(const SketchOptions& options)
    : with_bias_(options.with_bias), exact_(IsExact(options)) {
  error_rows_ = options.outputs;
  activation_rows_ = GradientInputs(options);
  if (exact_) return;
  const auto root =
      static_cast<int64_t>(std::sqrt(static_cast<double>(options.size)));
  error_rows_ = std::min(root, error_rows_);
  activation_rows_ = std::min(root, activation_rows_);
  of_errors_ = Draw(error_rows_, options.outputs, RandomKey(options.key, 1u));
  of_activations_ = Draw(activation_rows_, GradientInputs(options),
                         RandomKey(options.key, 2u));
}

void FactorSketch::Append(const Factors& factors,
                          std::vector<float>* sketch) const {
  std::vector<float> error(factors.error.begin(), factors.error.end());
  std::vector<float> activation(factors.activation.begin(),
                                factors.activation.end());
  if (with_bias_) activation.push_back(1);
  if (!exact_) {
    error = Multiply(of_errors_, error_rows_, error);
    activation = Multiply(of_activations_, activation_rows_, activation);
  }
  for (const float e : error) {
    for (const float a : activation) sketch->push_back(e * a);
  }
}

}  // namespace ps
