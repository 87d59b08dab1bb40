#include "tests/optimizers/optimizer_reference.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "glog/logging.h"

namespace ps {
namespace {

using Vector = std::vector<double>;

double Norm(const Vector& x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum);
}

// The hyperparameters of a rule, with defaults filled in.
struct Hyper {
  double decay;
  double beta1;
  double beta2;
  double epsilon;
};

Hyper HyperOf(const OptimizerConfig& config) {
  static const auto* const kDefaults =
      new std::map<std::string, Hyper>{{"sgd", {0, 0, 0, 0}},
                                       {"momentum", {0, 0, 0, 0}},
                                       {"nesterov", {0, 0, 0, 0}},
                                       {"adam", {0, 0.9, 0.999, 1e-8}},
                                       {"adamw", {0.01, 0.9, 0.999, 1e-8}},
                                       {"adagrad", {0, 0, 0, 1e-10}},
                                       {"lars", {0, 0, 0, 0}},
                                       {"lamb", {0.01, 0.9, 0.999, 1e-6}},
                                       {"novograd", {0, 0.95, 0.98, 1e-8}}};
  Hyper hyper = kDefaults->at(config.name());
  if (config.has_weight_decay()) hyper.decay = config.weight_decay();
  if (config.has_beta1()) hyper.beta1 = config.beta1();
  if (config.has_beta2()) hyper.beta2 = config.beta2();
  if (config.has_epsilon()) hyper.epsilon = config.epsilon();
  return hyper;
}

// The history of one tensor, including the last update.
struct History {
  std::vector<double> rates;
  std::vector<Vector> weights;    // Before each update.
  std::vector<Vector> gradients;  // As received.

  int size() const { return static_cast<int>(rates.size()); }
};

// The sum over updates k of base^(t - k) term(k), where t is the last update.
template <typename Term>
double Decayed(double base, int size, Term term) {
  double sum = 0;
  for (int k = 0; k < size; ++k) sum += std::pow(base, size - 1 - k) * term(k);
  return sum;
}

// A bias-corrected moment: the mean of the terms, weighted by base^(t - k).
template <typename Term>
double DecayedMean(double base, int size, Term term) {
  return Decayed(base, size, term) /
         Decayed(base, size, [](int) { return 1.0; });
}

// The amount subtracted from element i of the tensor in the last update of
// `history`.
class Rule {
 public:
  Rule(const OptimizerConfig& config, const History& history, bool adapt)
      : config_(config), hyper_(HyperOf(config)), h_(history), adapt_(adapt) {}

  Vector Step() const {
    Vector step(h_.weights.back().size());
    const std::string& name = config_.name();
    for (size_t i = 0; i < step.size(); ++i) {
      if (name == "sgd") step[i] = Rate() * L2(h_.size() - 1, i);
      if (name == "momentum") step[i] = Rate() * HeavyBall(i);
      if (name == "nesterov") step[i] = Rate() * Nesterov(i);
      if (name == "adam") step[i] = Rate() * Adam(i, hyper_.decay);
      if (name == "adamw") {
        step[i] = Rate() * (Adam(i, 0) + hyper_.decay * h_.weights.back()[i]);
      }
      if (name == "adagrad") step[i] = Adagrad(i);
      if (name == "lars") step[i] = Lars(i);
      if (name == "novograd") step[i] = Rate() * Novograd(i);
    }
    if (name == "lamb") step = Lamb();
    return step;
  }

 private:
  double Rate() const { return h_.rates.back(); }

  double L2(int k, size_t i) const {
    return h_.gradients[k][i] + hyper_.decay * h_.weights[k][i];
  }

  double HeavyBall(size_t i) const {
    return Decayed(config_.momentum(), h_.size(), [&](int k) {
      return (k == 0 ? 1 : 1 - config_.dampening()) * L2(k, i);
    });
  }

  double Nesterov(size_t i) const {
    return L2(h_.size() - 1, i) +
           config_.momentum() * Decayed(config_.momentum(), h_.size(),
                                        [&](int k) { return L2(k, i); });
  }

  double Adam(size_t i, double l2) const {
    const auto d = [&](int k) {
      return h_.gradients[k][i] + l2 * h_.weights[k][i];
    };
    const double first = DecayedMean(hyper_.beta1, h_.size(), d);
    const double second = DecayedMean(hyper_.beta2, h_.size(),
                                      [&](int k) { return d(k) * d(k); });
    return first / (std::sqrt(second) + hyper_.epsilon);
  }

  double Adagrad(size_t i) const {
    double sum = config_.initial_accumulator();
    for (int k = 0; k < h_.size(); ++k) sum += L2(k, i) * L2(k, i);
    const double rate =
        Rate() / (1 + (h_.size() - 1) * config_.learning_rate_decay());
    return rate * L2(h_.size() - 1, i) / (std::sqrt(sum) + hyper_.epsilon);
  }

  // Tensors without adaptation have no weight decay either.
  double Lars(size_t i) const {
    const double decay = adapt_ ? hyper_.decay : 0;
    const auto scaled = [&](int k) {
      return LarsRate(k) * (h_.gradients[k][i] + decay * h_.weights[k][i]);
    };
    const double buffer = Decayed(config_.momentum(), h_.size(), scaled);
    if (!config_.nesterov()) return buffer;
    return config_.momentum() * buffer + scaled(h_.size() - 1);
  }

  double LarsRate(int k) const {
    const double w = Norm(h_.weights[k]);
    const double g = Norm(h_.gradients[k]);
    if (!adapt_ || w == 0 || g == 0) return h_.rates[k];
    double lambda = config_.trust_coefficient() * w /
                    (g + hyper_.decay * w + hyper_.epsilon);
    if (config_.clip_learning_rate()) {
      lambda = std::min(lambda / h_.rates[k], 1.0);
    }
    return h_.rates[k] * lambda;
  }

  Vector Lamb() const {
    const double decay = adapt_ ? hyper_.decay : 0;
    Vector r(h_.weights.back().size());
    for (size_t i = 0; i < r.size(); ++i) {
      r[i] = Adam(i, 0) + decay * h_.weights.back()[i];
    }
    double w = Norm(h_.weights.back());
    double trust = 1;
    if ((decay != 0 || config_.always_adapt()) && w > 0 && Norm(r) > 0) {
      if (config_.trust_clip() > 0) w = std::min(w, config_.trust_clip());
      trust = w / Norm(r);
    }
    for (double& value : r) value *= Rate() * trust;
    return r;
  }

  // The second moment at update t. Its first term is not scaled by 1 - beta2.
  double NovogradLength(int t) const {
    double v = 0;
    bool started = false;
    for (int k = 0; k <= t; ++k) {
      const double q = std::pow(Norm(h_.gradients[k]), 2);
      if (!started && q == 0) continue;
      v += std::pow(hyper_.beta2, t - k) * (started ? 1 - hyper_.beta2 : 1) * q;
      started = true;
    }
    return std::sqrt(v) + hyper_.epsilon;
  }

  double Novograd(size_t i) const {
    const double decay = adapt_ ? hyper_.decay : 0;
    const double entering = config_.averaging() ? 1 - hyper_.beta1 : 1;
    return Decayed(hyper_.beta1, h_.size(), [&](int k) {
      return entering * (h_.gradients[k][i] / NovogradLength(k) +
                         decay * h_.weights[k][i]);
    });
  }

  const OptimizerConfig& config_;
  const Hyper hyper_;
  const History& h_;
  const bool adapt_;
};

}  // namespace

std::vector<double> ReferenceWeights(
    const OptimizerConfig& config, const std::vector<TensorStretch>& stretches,
    const Trajectory& trajectory) {
  Vector result;
  for (const TensorStretch& stretch : stretches) {
    CHECK_EQ(stretch.begin, 0) << "not a whole tensor";
    const auto slice = [&](const std::vector<float>& x) {
      return Vector(
          x.begin() + static_cast<int64_t>(result.size()),
          x.begin() + static_cast<int64_t>(result.size()) + stretch.end);
    };
    Vector weights = slice(trajectory.weights);
    History history;
    for (const std::vector<float>& gradient : trajectory.gradients) {
      history.rates.push_back(trajectory.rate > 0
                                  ? trajectory.rate
                                  : UpdateOf(history.size()).learning_rate);
      history.weights.push_back(weights);
      history.gradients.push_back(slice(gradient));
      const Vector step = Rule(config, history, stretch.adapt).Step();
      for (size_t i = 0; i < weights.size(); ++i) weights[i] -= step[i];
    }
    result.insert(result.end(), weights.begin(), weights.end());
  }
  return result;
}

}  // namespace ps
