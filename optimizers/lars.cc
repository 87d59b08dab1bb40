// Implements You, Gitman and Ginsburg, "Large batch training of convolutional
// networks", arXiv 1708.03888, as in MLPerf: the rate is inside the momentum,
// so the buffer contains the rates of earlier updates.
#include <algorithm>
#include <cmath>

#include "optimizers/element_loop.h"
#include "optimizers/layer_wise.h"
#include "optimizers/optimizer_defaults.h"
#include "optimizers/sum_of_squares.h"

namespace ps {
namespace {

// d = g + weight_decay w;  b = momentum b + rate d;
// heavy ball: w = w - b;  Nesterov: w = w - (momentum b + rate d).
template <bool kNesterov>
struct LarsElement {
  float scale;  // Multiplies the gradient.
  float weight_decay;
  float momentum;
  float rate;  // The tensor's own rate.

  void operator()(float gradient, float* w, float* buffer) const {
    const float step = rate * (gradient * scale + weight_decay * *w);
    const float b = momentum * *buffer + step;
    *buffer = b;
    *w -= kNesterov ? momentum * b + step : b;
  }
};

class Lars final : public LayerWiseOptimizer {
 public:
  Lars(const OptimizerConfig& config, StretchTable stretches)
      : LayerWiseOptimizer(std::move(stretches)),
        config_(config),
        rates_(this->stretches().size()),
        buffer_(this->stretches().num_elements()) {}

  std::vector<Squares> PartialSquares(const UpdateInfo& update,
                                      const float* gradient,
                                      const float* weights) override {
    const float scale = static_cast<float>(update.gradient_scale);
    std::vector<Squares> squares(stretches().size());
    for (int64_t s = 0; s < stretches().size(); ++s) {
      if (!stretches().adapt(s)) continue;
      const int64_t begin = stretches().begin(s);
      const int64_t n = stretches().end(s) - begin;
      squares[s].weights = SumOfSquares(weights + begin, n);
      squares[s].gradient = SumOfSquares(gradient + begin, n, scale);
    }
    return squares;
  }

  void SetTotals(const UpdateInfo& update,
                 absl::Span<const Squares> totals) override {
    CHECK_EQ(static_cast<int64_t>(totals.size()), stretches().size());
    for (int64_t s = 0; s < stretches().size(); ++s) {
      const double rate = update.learning_rate * stretches().rate(s);
      rates_[s] = static_cast<float>(
          stretches().adapt(s) ? AdaptedRate(rate, totals[s]) : rate);
    }
  }

  void Step(const UpdateInfo& update, int64_t begin, int64_t end,
            const float* gradient, float* weights) override {
    if (config_.nesterov()) {
      StepParts<true>(update, begin, end, gradient, weights);
    } else {
      StepParts<false>(update, begin, end, gradient, weights);
    }
  }

  std::vector<std::pair<absl::string_view, std::vector<float>*>> State()
      override {
    return {{"momentum", &buffer_}};
  }

 private:
  // Returns learning_rate x lambda.
  double AdaptedRate(double learning_rate, const Squares& total) const {
    const double weights = std::sqrt(total.weights);
    const double gradient = std::sqrt(total.gradient);
    if (!(weights > 0 && gradient > 0)) return learning_rate;
    const double lambda =
        config_.trust_coefficient() * weights /
        (gradient + WeightDecay(config_) * weights + Epsilon(config_));
    // This is min(lambda / learning_rate, 1) x learning_rate, and valid for a
    // learning rate of 0, too.
    if (config_.clip_learning_rate()) return std::min(lambda, learning_rate);
    return learning_rate * lambda;
  }

  template <bool kNesterov>
  void StepParts(const UpdateInfo& update, int64_t begin, int64_t end,
                 const float* gradient, float* weights) {
    const float scale = static_cast<float>(update.gradient_scale);
    const float weight_decay = static_cast<float>(WeightDecay(config_));
    const float momentum = static_cast<float>(config_.momentum());
    stretches().ForParts(
        begin, end, [&](int64_t s, int64_t part_begin, int64_t part_end) {
          const LarsElement<kNesterov> element = {
              scale, stretches().adapt(s) ? weight_decay : 0, momentum,
              rates_[s]};
          ForPiece(element, part_end - part_begin,
                   gradient + (part_begin - begin),
                   weights + (part_begin - begin), buffer_.data() + part_begin);
        });
  }

  const OptimizerConfig config_;
  std::vector<float> rates_;   // The rate of each segment, in this update.
  std::vector<float> buffer_;  // [num_elements]
};

constexpr OptimizerFactory kNewLars = NewLayerWise<Lars>;

REGISTER_OPTIMIZER(
    "lars", "momentum with a learning rate for each layer, for large batches",
    kNewLars);

}  // namespace
}  // namespace ps
