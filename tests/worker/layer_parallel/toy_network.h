// A residual network in doubles, with nothing from the tree: x becomes
// x + act(W x), layer after layer, and the loss is the square of the distance
// to a wanted end over 2. For one example.
#ifndef TESTS_WORKER_LAYER_PARALLEL_TOY_NETWORK_H_
#define TESTS_WORKER_LAYER_PARALLEL_TOY_NETWORK_H_

#include <cmath>
#include <cstddef>
#include <vector>

#include "common/random.h"

namespace ps {

using Vector = std::vector<double>;

inline double Dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

inline Vector Plus(const Vector& a, double factor, const Vector& b) {
  Vector sum = a;
  for (size_t i = 0; i < a.size(); ++i) sum[i] += factor * b[i];
  return sum;
}

inline double Distance(const Vector& a, const Vector& b) {
  const Vector difference = Plus(a, -1, b);
  return std::sqrt(Dot(difference, difference));
}

class ToyNetwork {
 public:
  static constexpr size_t kWidth = 4;

  // linear: without the tanh.
  ToyNetwork(size_t stages, size_t layers_per_stage, double scale, bool linear)
      : stages_(stages), layers_(layers_per_stage), linear_(linear) {
    RandomStream random(7);
    weights_.resize(stages * layers_per_stage * kWidth * kWidth);
    for (double& w : weights_) w = random.Uniform(-scale, scale);
    input_.resize(kWidth);
    wanted_.resize(kWidth);
    for (double& x : input_) x = random.Uniform(-1, 1);
    for (double& x : wanted_) x = random.Uniform(-2, 2);
  }

  size_t stages() const { return stages_; }
  const Vector& input() const { return input_; }
  Vector& weights() { return weights_; }

  Vector Forward(size_t stage, const Vector& start) const {
    Vector x = start;
    for (size_t l = 0; l < layers_; ++l) x = Plus(x, 1, Inner(stage, l, x));
    return x;
  }

  double Loss(const Vector& end) const {
    const Vector off = Plus(end, -1, wanted_);
    return Dot(off, off) / 2;
  }
  Vector LossGradient(const Vector& end) const {
    return Plus(end, -1, wanted_);
  }

  // The gradient at the start, from that at the end; adds that of the stage's
  // weights to *weights_gradient, of the size of weights().
  Vector Backward(size_t stage, const Vector& start, const Vector& end_gradient,
                  Vector* weights_gradient) const {
    std::vector<Vector> inputs = {start};
    for (size_t l = 0; l + 1 < layers_; ++l) {
      inputs.push_back(Plus(inputs.back(), 1, Inner(stage, l, inputs.back())));
    }
    Vector gradient = end_gradient;
    for (size_t l = layers_; l-- > 0;) {
      const Vector value = Inner(stage, l, inputs[l]);
      Vector before = gradient;
      for (size_t i = 0; i < kWidth; ++i) {
        const double slope = linear_ ? 1 : 1 - value[i] * value[i];
        for (size_t j = 0; j < kWidth; ++j) {
          (*weights_gradient)[Index(stage, l, i, j)] +=
              gradient[i] * slope * inputs[l][j];
          before[j] += gradient[i] * slope * weights_[Index(stage, l, i, j)];
        }
      }
      gradient = before;
    }
    return gradient;
  }

  // Back-propagation: the start of every stage, the gradient there, and the
  // gradient of all weights.
  struct Serial {
    std::vector<Vector> starts;
    std::vector<Vector> adjoints;
    Vector gradient;
  };
  Serial RunSerial() const {
    Serial serial;
    serial.starts = {input_};
    for (size_t k = 0; k < stages_; ++k) {
      serial.starts.push_back(Forward(k, serial.starts.back()));
    }
    serial.gradient.resize(weights_.size());
    serial.adjoints.resize(stages_);
    Vector gradient = LossGradient(serial.starts.back());
    serial.starts.pop_back();
    for (size_t k = stages_; k-- > 0;) {
      gradient = Backward(k, serial.starts[k], gradient, &serial.gradient);
      serial.adjoints[k] = gradient;
    }
    return serial;
  }

 private:
  size_t Index(size_t stage, size_t layer, size_t i, size_t j) const {
    return ((stage * layers_ + layer) * kWidth + i) * kWidth + j;
  }
  Vector Inner(size_t stage, size_t layer, const Vector& x) const {
    Vector y(kWidth);
    for (size_t i = 0; i < kWidth; ++i) {
      for (size_t j = 0; j < kWidth; ++j) {
        y[i] += weights_[Index(stage, layer, i, j)] * x[j];
      }
      if (!linear_) y[i] = std::tanh(y[i]);
    }
    return y;
  }

  const size_t stages_;
  const size_t layers_;
  const bool linear_;
  Vector weights_;
  Vector input_;
  Vector wanted_;
};

}  // namespace ps

#endif  // TESTS_WORKER_LAYER_PARALLEL_TOY_NETWORK_H_
