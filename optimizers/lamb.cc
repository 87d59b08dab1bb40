// Implements You et al., "Large batch optimization for deep learning: training
// BERT in 76 minutes", ICLR 2020, as in NVIDIA's kernel: tensors without weight
// decay step at the plain learning rate. Unlike that kernel, this code does not
// clip the gradient's norm.
#include <algorithm>
#include <cmath>

#include "optimizers/element_loop.h"
#include "optimizers/layer_wise.h"
#include "optimizers/moments.h"
#include "optimizers/optimizer_defaults.h"
#include "optimizers/sum_of_squares.h"

namespace ps {
namespace {

constexpr int64_t kPiece = 4096;  // The number of elements of a piece.

// r = direction(g) + weight_decay w, in `step`.
struct LambDirection {
  AdamMoments moments;
  float scale;  // Multiplies the gradient.
  float weight_decay;

  void operator()(float gradient, float* step, const float* w, float* first,
                  float* second) const {
    *step =
        moments.Direction(gradient * scale, first, second) + weight_decay * *w;
  }
};

// w = w - rate r.
struct LambStep {
  float rate;  // The tensor's own rate.

  void operator()(float step, float* w) const { *w -= rate * step; }
};

class Lamb final : public LayerWiseOptimizer {
 public:
  Lamb(const OptimizerConfig& config, StretchTable stretches)
      : LayerWiseOptimizer(std::move(stretches)),
        config_(config),
        rates_(this->stretches().size()),
        step_(this->stretches().num_elements()),
        first_(this->stretches().num_elements()),
        second_(this->stretches().num_elements()) {}

  // This also adds the gradient to the moments, so it must be called once per
  // update.
  std::vector<Squares> PartialSquares(const UpdateInfo& update,
                                      const float* gradient,
                                      const float* weights) override {
    const AdamMoments moments = MomentsOf(config_, update);
    const float scale = static_cast<float>(update.gradient_scale);
    std::vector<Squares> squares(stretches().size());
    for (int64_t s = 0; s < stretches().size(); ++s) {
      const LambDirection direction = {moments, scale,
                                       static_cast<float>(DecayOf(s))};
      const int64_t end = stretches().end(s);
      // The pieces are small enough to be in the cache when they are squared.
      for (int64_t i = stretches().begin(s); i < end; i += kPiece) {
        const int64_t n = std::min(kPiece, end - i);
        ForPiece(direction, n, gradient + i, step_.data() + i, weights + i,
                 first_.data() + i, second_.data() + i);
        if (!Adapts(s)) continue;
        squares[s].weights += SumOfSquares(weights + i, n);
        squares[s].step += SumOfSquares(step_.data() + i, n);
      }
    }
    return squares;
  }

  void SetTotals(const UpdateInfo& update,
                 absl::Span<const Squares> totals) override {
    CHECK_EQ(static_cast<int64_t>(totals.size()), stretches().size());
    for (int64_t s = 0; s < stretches().size(); ++s) {
      rates_[s] =
          static_cast<float>(update.learning_rate * stretches().rate(s) *
                             (Adapts(s) ? Trust(totals[s]) : 1));
    }
  }

  void Step(const UpdateInfo& /*update*/, int64_t begin, int64_t end,
            const float* /*gradient*/, float* weights) override {
    stretches().ForParts(
        begin, end, [&](int64_t s, int64_t part_begin, int64_t part_end) {
          ForPiece(LambStep{rates_[s]}, part_end - part_begin,
                   step_.data() + part_begin, weights + (part_begin - begin));
        });
  }

  // step_ is not part of the state: it is used only between PartialSquares and
  // Step.
  std::vector<std::pair<absl::string_view, std::vector<float>*>> State()
      override {
    return {{"first_moment", &first_}, {"second_moment", &second_}};
  }

 private:
  double DecayOf(int64_t stretch) const {
    return stretches().adapt(stretch) ? WeightDecay(config_) : 0;
  }

  bool Adapts(int64_t stretch) const {
    return config_.always_adapt() || DecayOf(stretch) != 0;
  }

  // Returns the norm of the weights over that of the step.
  double Trust(const Squares& total) const {
    double weights = std::sqrt(total.weights);
    const double step = std::sqrt(total.step);
    if (!(weights > 0 && step > 0)) return 1;
    if (config_.trust_clip() > 0) {
      weights = std::min(weights, config_.trust_clip());
    }
    return weights / step;
  }

  const OptimizerConfig config_;
  std::vector<float> rates_;   // The rate of each segment, in this update.
  std::vector<float> step_;    // [num_elements]: r of this update.
  std::vector<float> first_;   // [num_elements]
  std::vector<float> second_;  // [num_elements]
};

constexpr OptimizerFactory kNewLamb = NewLayerWise<Lamb>;

REGISTER_OPTIMIZER(
    "lamb", "adam with a learning rate for each layer, for large batches",
    kNewLamb);

}  // namespace
}  // namespace ps
