// RedSync: a threshold between the mean and the largest magnitude, by trial
// (Fang, Fu, Yang, Hsieh, "RedSync: Reducing synchronization bandwidth for
// distributed deep learning training system", arXiv 1808.04357).
#include <memory>

#include "common/status_macros.h"
#include "compressors/sparsifier.h"
#include "compressors/threshold_sieve.h"

namespace ps {
namespace {

class RedsyncSelector final : public Selector {
 public:
  explicit RedsyncSelector(const CompressorOptions& options)
      : config_(options.config.redsync()), sieve_(&options.backend->sparse()) {}

  absl::Status Select(const SelectorInput& input, Selected* selected,
                      CompressionStats* stats) override {
    const int64_t k = stats->target_count;
    if (k == input.n) {
      selected->all = true;
      stats->raw_count = k;
      return absl::OkStatus();
    }
    sieve_.Reset(input);
    const bool trimmed = config_.search() == RedsyncConfig::TRIMMED;
    PS_ASSIGN_OR_RETURN(const double threshold,
                        trimmed ? Lower(input, k) : Bisect(input, k));
    PS_RETURN_IF_ERROR(sieve_.Select(threshold, &selected->elements, stats));
    if (config_.exact_tail()) {
      ThresholdSieve::Trim(k, "tail", &selected->elements, stats);
    }
    return absl::OkStatus();
  }

 private:
  // The place t in [0, 1] between the mean and the largest magnitude.
  static double At(double t, const SelectorInput& input) {
    const double mean = input.moments.sum / static_cast<double>(input.n);
    return mean + t * (input.moments.max - mean);
  }

  // The last threshold tried: of three, with the step of the authors' code.
  absl::StatusOr<double> Bisect(const SelectorInput& input, int64_t k) {
    double low = 0;
    double high = 1;
    double threshold = 0;
    while (high - low > config_.step()) {
      const double t = (low + high) / 2;
      threshold = At(t, input);
      PS_ASSIGN_OR_RETURN(const int64_t count, sieve_.CountAbove(threshold));
      if (k < count && count < 2 * k) break;
      // The code takes a threshold that selects between k / 2 and k for one
      // that selects too many.
      const bool too_few = config_.fixed_step() ? count <= k : 2 * count < k;
      (too_few ? high : low) = t;
    }
    return threshold;
  }

  // The first threshold from the top that enough elements exceed. If not even
  // the mean is exceeded by so many, 0: the code goes on below the mean in the
  // same steps, of which there may be any number.
  absl::StatusOr<double> Lower(const SelectorInput& input, int64_t k) {
    constexpr double kRounding = 1e-9;
    for (int i = 1; 1 - i * config_.step() > -kRounding; ++i) {
      const double threshold = At(1 - i * config_.step(), input);
      PS_ASSIGN_OR_RETURN(const int64_t count, sieve_.CountAbove(threshold));
      if (count >= k) return threshold;
    }
    return 0;
  }

  const RedsyncConfig config_;
  ThresholdSieve sieve_;
};

absl::StatusOr<std::unique_ptr<Compressor>> NewRedsync(
    const CompressorOptions& options) {
  return NewSparsifier(options, std::make_unique<RedsyncSelector>(options));
}

REGISTER_COMPRESSOR("redsync", NewRedsync);

}  // namespace
}  // namespace ps
