// Selects exactly the k largest magnitudes (Aji and Heafield, "Sparse
// communication for distributed gradient descent", EMNLP 2017, with a global
// threshold).
#include <memory>

#include "compressors/selectors/exact_top_k.h"
#include "compressors/selectors/sparsifier.h"

namespace ps {
namespace {

class TopKSelector final : public Selector {
 public:
  explicit TopKSelector(const CompressorOptions& options)
      : ratio_(options.config.ratio()), top_k_(&options.backend->sparse()) {}

  absl::Status AddAndMeasure(SparseKernels*, const float* residual,
                             const float* gradient, int64_t n, float* out,
                             Moments* moments) override {
    return top_k_.AddAndMeasure(residual, gradient, n, TargetCount(ratio_, n),
                                out, moments);
  }

  absl::Status Select(const SelectorInput& input, Selected* selected,
                      CompressionStats* stats) override {
    const int64_t k = stats->target_count;
    stats->raw_count = k;
    if (k == input.n) {
      selected->all = true;
      return absl::OkStatus();
    }
    return top_k_.Select(input.u, input.n, k, selected, &stats->threshold);
  }

 private:
  const double ratio_;
  ExactTopK top_k_;
};

absl::StatusOr<std::unique_ptr<Compressor>> NewTopK(
    const CompressorOptions& options) {
  return NewSparsifier(options, std::make_unique<TopKSelector>(options));
}

REGISTER_COMPRESSOR("topk", NewTopK);

}  // namespace
}  // namespace ps
