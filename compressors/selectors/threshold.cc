// Selects by a threshold that the user sets (Strom, "Scalable distributed DNN
// training using commodity GPU cloud computing", Interspeech 2015, without its
// quantization). The ratio follows from it.
#include <memory>

#include "common/status_macros.h"
#include "compressors/selectors/sparsifier.h"
#include "compressors/selectors/threshold_sieve.h"

namespace ps {
namespace {

// A useful threshold selects at most one in kLikely elements; the buffer in
// device memory holds a few times as many.
constexpr int64_t kLikely = 32;

class ThresholdSelector final : public Selector {
 public:
  explicit ThresholdSelector(const CompressorOptions& options)
      : sieve_(&options.backend->sparse()) {
    rule_.threshold = options.config.threshold().threshold();
  }

  absl::Status Select(const SelectorInput& input, Selected* selected,
                      CompressionStats* stats) override {
    PS_RETURN_IF_ERROR(
        sieve_.Form(input, {rule_, {}, input.n / kLikely}, stats));
    if (stats->non_finite) return absl::OkStatus();
    PS_RETURN_IF_ERROR(sieve_.SelectAll(rule_, selected, stats));
    stats->target_count = stats->raw_count;
    return absl::OkStatus();
  }

 private:
  ThresholdRule rule_;
  ThresholdSieve sieve_;
};

absl::StatusOr<std::unique_ptr<Compressor>> NewThreshold(
    const CompressorOptions& options) {
  return NewSparsifier(options, std::make_unique<ThresholdSelector>(options));
}

REGISTER_COMPRESSOR("threshold", "elements above a fixed threshold; no ratio",
                    CompressorPlugin(NewThreshold).WithoutTargetRatio());

}  // namespace
}  // namespace ps
