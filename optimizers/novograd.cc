// Implements Ginsburg et al., "Training deep networks with stochastic gradient
// normalized by layerwise adaptive second moments", arXiv 1905.11286, with the
// details of the authors' code: the second moment starts as the square of the
// first non-zero gradient, without bias correction, and the learning rate stays
// outside the first moment. Unlike in that code, epsilon stands outside the
// root.
#include <algorithm>
#include <cmath>
#include <limits>

#include "optimizers/element_loop.h"
#include "optimizers/layer_wise.h"
#include "optimizers/optimizer_defaults.h"
#include "optimizers/sum_of_squares.h"

namespace ps {
namespace {

// u = g / length + weight_decay w, times `entering`;
// m = beta1 m + u;  w = w - rate m.
struct NovogradElement {
  float scale;           // Multiplies the gradient.
  float inverse_length;  // 1 / (sqrt(v) + epsilon), of the tensor.
  float weight_decay;
  float entering;  // 1 - beta1 where m is an average, else 1.
  float beta1;
  float rate;

  void operator()(float gradient, float* w, float* moment) const {
    const float u =
        entering * (gradient * scale * inverse_length + weight_decay * *w);
    const float m = beta1 * *moment + u;
    *moment = m;
    *w -= rate * m;
  }
};

class Novograd final : public LayerWiseOptimizer {
 public:
  Novograd(const OptimizerConfig& config, StretchTable stretches)
      : LayerWiseOptimizer(std::move(stretches)),
        config_(config),
        inverse_lengths_(this->stretches().size()),
        first_(this->stretches().num_elements()),
        second_(this->stretches().size()) {}

  std::vector<Squares> PartialSquares(const UpdateInfo& update,
                                      const float* gradient,
                                      const float* /*weights*/) override {
    const float scale = static_cast<float>(update.gradient_scale);
    std::vector<Squares> squares(stretches().size());
    for (int64_t s = 0; s < stretches().size(); ++s) {
      const int64_t begin = stretches().begin(s);
      squares[s].gradient =
          SumOfSquares(gradient + begin, stretches().end(s) - begin, scale);
    }
    return squares;
  }

  // The second moment is stored as a float, as in a checkpoint, and the next
  // one is computed from the stored value. So a restored run continues with the
  // same bits, and all servers that hold a part of the tensor agree.
  void SetTotals(const UpdateInfo& /*update*/,
                 absl::Span<const Squares> totals) override {
    CHECK_EQ(static_cast<int64_t>(totals.size()), stretches().size());
    constexpr double kMax = std::numeric_limits<float>::max();
    const double beta2 = Beta2(config_);
    for (int64_t s = 0; s < stretches().size(); ++s) {
      const double q = totals[s].gradient;
      const double v =
          second_[s] == 0 ? q : beta2 * second_[s] + (1 - beta2) * q;
      // The average could never return from infinity.
      second_[s] = static_cast<float>(std::min(v, kMax));
      const double length = std::sqrt(v) + Epsilon(config_);
      // 1 / length may be infinite until the first non-zero gradient; the bound
      // makes its product with a gradient of 0 equal 0.
      inverse_lengths_[s] = static_cast<float>(std::min(1 / length, kMax));
    }
  }

  void Step(const UpdateInfo& update, int64_t begin, int64_t end,
            const float* gradient, float* weights) override {
    const double beta1 = Beta1(config_);
    NovogradElement element;
    element.scale = static_cast<float>(update.gradient_scale);
    element.entering =
        config_.averaging() ? static_cast<float>(1 - beta1) : 1.0f;
    element.beta1 = static_cast<float>(beta1);
    const float weight_decay = static_cast<float>(WeightDecay(config_));
    stretches().ForParts(
        begin, end, [&](int64_t s, int64_t part_begin, int64_t part_end) {
          element.inverse_length = inverse_lengths_[s];
          element.rate =
              static_cast<float>(update.learning_rate * stretches().rate(s));
          element.weight_decay = stretches().adapt(s) ? weight_decay : 0;
          ForPiece(element, part_end - part_begin,
                   gradient + (part_begin - begin),
                   weights + (part_begin - begin), first_.data() + part_begin);
        });
  }

  // second_moment has one element for each segment.
  std::vector<std::pair<absl::string_view, std::vector<float>*>> State()
      override {
    return {{"first_moment", &first_}, {"second_moment", &second_}};
  }

 private:
  const OptimizerConfig config_;
  // The rate of each segment, in this update.
  std::vector<float> inverse_lengths_;
  std::vector<float> first_;   // [num_elements]
  std::vector<float> second_;  // The second moment of each segment.
};

constexpr OptimizerFactory kNewNovograd = NewLayerWise<Novograd>;

REGISTER_OPTIMIZER("novograd",
                   "moments of gradients that are normalised layer by layer",
                   kNewNovograd);

}  // namespace
}  // namespace ps
