// GaussianKSGD: the threshold of a normal law, and a few corrections of it
// (Shi, Chu, Cheung, See, "Understanding Top-k Sparsification in Distributed
// Deep Learning", arXiv 1911.08772, and the authors' code).
#include <algorithm>
#include <cmath>
#include <memory>

#include "common/status_macros.h"
#include "compressors/quantiles.h"
#include "compressors/sparsifier.h"
#include "compressors/threshold_sieve.h"

namespace ps {
namespace {

class GaussiankSelector final : public Selector {
 public:
  explicit GaussiankSelector(const CompressorOptions& options)
      : ratio_(options.config.ratio()),
        config_(options.config.gaussiank()),
        kernels_(&options.backend->sparse()),
        sieve_(kernels_) {}

  absl::Status Select(const SelectorInput& input, Selected* selected,
                      CompressionStats* stats) override {
    const int64_t k = stats->target_count;
    if (k == input.n) {
      selected->all = true;
      stats->raw_count = k;
      return absl::OkStatus();
    }
    PS_ASSIGN_OR_RETURN(double threshold, NormalThreshold(input));
    sieve_.Reset(input);
    // What the last evaluation counted is sent: a correction after it would
    // not be used.
    for (int i = 1; i < config_.evaluations(); ++i) {
      PS_ASSIGN_OR_RETURN(const int64_t count, sieve_.CountAbove(threshold));
      if (3 * count < 2 * k) {
        threshold *= 0.5;
      } else if (3 * count > 4 * k) {
        threshold *= 1.5;
      } else {
        break;
      }
    }
    return sieve_.Select(threshold, &selected->elements, stats);
  }

 private:
  // What a fraction `ratio` of a normal law exceeds on either side. The law is
  // that of the elements or, in SIDCo's version, of their magnitudes, which
  // makes no sense of the two sides.
  absl::StatusOr<double> NormalThreshold(const SelectorInput& input) {
    const double n = static_cast<double>(input.n);
    double sum = input.moments.sum;
    if (config_.statistics() == GaussiankConfig::SIGNED) {
      PS_RETURN_IF_ERROR(kernels_->SumValues(input.u, input.n, &sum));
    }
    const double mean = sum / n;
    // n is at least 2: shorter vectors are sent whole.
    const double variance =
        std::max(0.0, (input.moments.sum_squares - n * mean * mean) / (n - 1));
    return mean + std::sqrt(variance) * NormalUpperQuantile(ratio_ / 2);
  }

  const double ratio_;
  const GaussiankConfig config_;
  SparseKernels* const kernels_;  // Not owned.
  ThresholdSieve sieve_;
};

absl::StatusOr<std::unique_ptr<Compressor>> NewGaussiank(
    const CompressorOptions& options) {
  return NewSparsifier(options, std::make_unique<GaussiankSelector>(options));
}

REGISTER_COMPRESSOR("gaussiank", NewGaussiank);

}  // namespace
}  // namespace ps
