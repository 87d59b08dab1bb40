// Selection of Deep Gradient Compression: the threshold is that of a sample
// (Lin, Han, Mao, Wang, Dally, "Deep Gradient Compression", ICLR 2018, section
// 5; the fixed sample and the factor 4/3 are those of SIDCo's comparison).
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "common/status_macros.h"
#include "compressors/iteration_streams.h"
#include "compressors/random_subset.h"
#include "compressors/sparsifier.h"
#include "compressors/threshold_sieve.h"

namespace ps {
namespace {

constexpr uint64_t kDgcPurpose = 0x646763;  // "dgc"

// At least 1. Products such as 0.001 x 100000 may lie just above the integer
// that they stand for.
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
        kernels_(&options.backend->sparse()),
        sieve_(kernels_),
        streams_(kDgcPurpose, options) {}

  absl::Status Select(const SelectorInput& input, Selected* selected,
                      CompressionStats* stats) override {
    if (stats->target_count == input.n) {
      selected->all = true;
      stats->raw_count = input.n;
      return absl::OkStatus();
    }
    PS_ASSIGN_OR_RETURN(const float threshold, SampleThreshold(input));
    sieve_.Reset(input);
    PS_RETURN_IF_ERROR(sieve_.Select(threshold, &selected->elements, stats));
    const int64_t k = CountOf(ratio_, input.n);
    if (static_cast<double>(stats->raw_count) >
        config_.overshoot_cap() * static_cast<double>(k)) {
      ThresholdSieve::Trim(k, "cap", &selected->elements, stats);
    }
    return absl::OkStatus();
  }

  void Save(StateWriter* state) const override { streams_.Save(state); }
  absl::Status Load(StateReader* state) override {
    return streams_.Load(state);
  }

 private:
  // The magnitude of which the ratio of a sample is at least as large.
  absl::StatusOr<float> SampleThreshold(const SelectorInput& input) {
    const int64_t sample_size = CountOf(config_.sample_ratio(), input.n);
    RandomStream random = streams_.Next();
    sample_.indices = DrawSubset(input.n, sample_size, &random);
    PS_RETURN_IF_ERROR(kernels_->Gather(input.u, &sample_));
    std::vector<float>& values = sample_.values;
    for (float& value : values) value = std::fabs(value);
    const auto kth = values.begin() + (CountOf(ratio_, sample_size) - 1);
    std::nth_element(values.begin(), kth, values.end(), std::greater<float>());
    return *kth;
  }

  const double ratio_;
  const DgcConfig config_;
  SparseKernels* const kernels_;  // Not owned.
  ThresholdSieve sieve_;
  IterationStreams streams_;
  Selection sample_;  // Kept for its memory.
};

absl::StatusOr<std::unique_ptr<Compressor>> NewDgc(
    const CompressorOptions& options) {
  return NewSparsifier(options, std::make_unique<DgcSelector>(options));
}

REGISTER_COMPRESSOR("dgc", NewDgc);

}  // namespace
}  // namespace ps
