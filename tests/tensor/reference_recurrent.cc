#include "tests/tensor/reference_recurrent.h"

#include <cmath>

namespace ps {
namespace {

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

// Row `row` of matrix x vector + bias.
double Affine(const std::vector<double>& matrix, int64_t row,
              const double* vector, int64_t n,
              const std::vector<double>& bias) {
  double sum = bias[row];
  for (int64_t i = 0; i < n; ++i) sum += matrix[row * n + i] * vector[i];
  return sum;
}

}  // namespace

ReferenceTensor ReferenceRecurrent(const RecurrentShape& shape,
                                   const ReferenceTensor& x,
                                   const ReferenceRecurrentWeights& weights,
                                   ReferenceState* state) {
  const int64_t steps = x.shape[0], batch = x.shape[1], features = x.shape[2];
  const int64_t n = shape.hidden;
  ReferenceTensor y;
  y.shape = {steps, batch, n};
  for (int64_t t = 0; t < steps; ++t) {
    const ReferenceState before = *state;
    for (int64_t b = 0; b < batch; ++b) {
      const double* const input = x.values.data() + (t * batch + b) * features;
      const double* const hidden = before.hidden.data() + b * n;
      const auto from_input = [&](int64_t row) {
        return Affine(weights.input, row, input, features, weights.input_bias);
      };
      const auto from_state = [&](int64_t row) {
        return Affine(weights.recurrent, row, hidden, n,
                      weights.recurrent_bias);
      };
      const auto sum = [&](int64_t row) {
        return from_input(row) + from_state(row);
      };
      for (int64_t j = 0; j < n; ++j) {
        double h = 0;
        if (shape.cell == RecurrentShape::Cell::kLstm) {
          const double in = Logistic(sum(j));
          const double forget = Logistic(sum(n + j));
          const double candidate = std::tanh(sum(2 * n + j));
          const double out = Logistic(sum(3 * n + j));
          const double cell = forget * before.cells[b * n + j] + in * candidate;
          state->cells[b * n + j] = cell;
          h = out * std::tanh(cell);
        } else {
          const double reset = Logistic(sum(j));
          const double update = Logistic(sum(n + j));
          const double candidate =
              std::tanh(from_input(2 * n + j) + reset * from_state(2 * n + j));
          h = (1 - update) * candidate + update * hidden[j];
        }
        state->hidden[b * n + j] = h;
        y.values.push_back(h);
      }
    }
  }
  return y;
}

}  // namespace ps
