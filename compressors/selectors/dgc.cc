// Deep Gradient Compression's selection, with a threshold from a sample (Lin,
// Han, Mao, Wang, Dally, "Deep Gradient Compression", ICLR 2018, section 5; the
// fixed sample size and the factor 4/3 are those of SIDCo's comparison).
#include <algorithm>
#include <cmath>
#include <memory>

#include "common/status_macros.h"
#include "compressors/selectors/exact_top_k.h"
#include "compressors/selectors/iteration_streams.h"
#include "compressors/selectors/random_subset.h"
#include "compressors/selectors/sparsifier.h"
#include "compressors/selectors/threshold_sieve.h"

namespace ps {
namespace {

constexpr uint64_t kDgcPurpose = 0x646763;  // "dgc"

// Returns at least 1. The ceiling is robust to rounding: a product such as
// 0.001 x 100000 may lie just above the integer it stands for.
int64_t CountOf(double ratio, int64_t n) {
  return std::max<int64_t>(
      1,
      static_cast<int64_t>(std::ceil(ratio * static_cast<double>(n) - 1e-9)));
}

class DgcSelector final : public Selector {
 public:
  explicit DgcSelector(const CompressorOptions& options)
      : ratio_(options.config.ratio()),
        config_(options.config.dgc()),
        backend_(options.backend),
        sieve_(&backend_->sparse()),
        top_k_(&backend_->sparse()),
        streams_(kDgcPurpose, options) {}

  absl::Status Select(const SelectorInput& input, Selected* selected,
                      CompressionStats* stats) override {
    if (input.target_count == input.n) {
      return SelectEverything(input, &backend_->sparse(), selected, stats);
    }
    ThresholdQuery query;
    query.sample.key = streams_.NextKey();
    query.sample.size = CountOf(config_.sample_ratio(), input.n);
    query.sample.k = CountOf(ratio_, query.sample.size);
    query.likely_count = input.target_count;
    PS_RETURN_IF_ERROR(sieve_.Form(input, query, stats));
    if (stats->non_finite) return absl::OkStatus();
    RandomStream random = streams_.Next();
    ThresholdRule rule;
    if (!sieve_.found()) {
      PS_ASSIGN_OR_RETURN(rule.threshold,
                          SampleThreshold(input, query.sample, &random));
    }
    PS_RETURN_IF_ERROR(sieve_.Select(rule, selected, stats));
    const int64_t k = CountOf(ratio_, input.n);
    if (static_cast<double>(stats->raw_count) >
        config_.overshoot_cap() * static_cast<double>(k)) {
      return sieve_.Trim(k, "cap", selected, stats);
    }
    return absl::OkStatus();
  }

  void Save(StateWriter* state) const override { streams_.Save(state); }
  absl::Status Load(StateReader* state) override {
    return streams_.Load(state);
  }

 private:
  // Returns the k-th largest magnitude of a sample.
  absl::StatusOr<double> SampleThreshold(const SelectorInput& input,
                                         const SampleRule& sample,
                                         RandomStream* random) {
    if (sample_.size() != sample.size) {
      PS_ASSIGN_OR_RETURN(sample_, backend_->Allocate({sample.size}));
    }
    PS_RETURN_IF_ERROR(backend_->sparse().GatherTo(
        input.u, DrawSubset(input.n, sample.size, random), sample_.data()));
    // Selection avoids sorting, which would write the sample several times.
    double threshold = 0;
    PS_RETURN_IF_ERROR(top_k_.Select(sample_.data(), sample.size, sample.k,
                                     &largest_, &threshold));
    return threshold;
  }

  const double ratio_;
  const DgcConfig config_;
  Backend* const backend_;  // Not owned.
  ThresholdSieve sieve_;
  ExactTopK top_k_;  // Selects from samples.
  IterationStreams streams_;
  Tensor sample_;     // [sample_size]
  Selected largest_;  // The sample's largest; kept for its memory.
};

absl::StatusOr<std::unique_ptr<Compressor>> NewDgc(
    const CompressorOptions& options) {
  return NewSparsifier(options, std::make_unique<DgcSelector>(options));
}

REGISTER_COMPRESSOR("dgc", "elements above a threshold of a random sample",
                    NewDgc);

}  // namespace
}  // namespace ps
