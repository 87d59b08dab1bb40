// A threshold that the user sets (Strom, "Scalable distributed DNN training
// using commodity GPU cloud computing", Interspeech 2015, without its
// quantization). The ratio is what comes of it.
#include <memory>

#include "common/status_macros.h"
#include "compressors/sparsifier.h"
#include "compressors/threshold_fit.h"

namespace ps {
namespace {

class ThresholdSelector final : public Selector {
 public:
  explicit ThresholdSelector(const CompressorOptions& options)
      : threshold_(FloatAtMost(options.config.threshold().threshold())),
        sieve_(options.backend->sparse().NewSieve()) {}

  absl::Status AddAndMeasure(SparseKernels*, const float* residual,
                             const float* gradient, int64_t n, float* out,
                             Moments* moments) override {
    SieveGuess guess;
    guess.keep_above = threshold_;
    guess.needs_sums = false;
    return sieve_->ResetToSum(residual, gradient, n, guess, out, moments);
  }

  absl::Status Select(const SelectorInput&, Selected* selected,
                      CompressionStats* stats) override {
    PS_RETURN_IF_ERROR(sieve_->SelectAbove(threshold_, &selected->elements));
    stats->threshold = threshold_;
    stats->raw_count = selected->elements.size();
    stats->target_count = stats->raw_count;
    return absl::OkStatus();
  }

 private:
  const float threshold_;
  const std::unique_ptr<Sieve> sieve_;
};

absl::StatusOr<std::unique_ptr<Compressor>> NewThreshold(
    const CompressorOptions& options) {
  return NewSparsifier(options, std::make_unique<ThresholdSelector>(options));
}

REGISTER_COMPRESSOR_WITHOUT_TARGET_RATIO("threshold", NewThreshold);

}  // namespace
}  // namespace ps
