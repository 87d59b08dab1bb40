// RedSync: finds a threshold between the mean and the largest magnitude by
// trial (Fang, Fu, Yang, Hsieh, "RedSync: Reducing synchronization bandwidth
// for distributed deep learning training system", arXiv 1808.04357). The trials
// are in threshold_search.h.
#include <memory>

#include "common/status_macros.h"
#include "compressors/selectors/sparsifier.h"
#include "compressors/selectors/threshold_sieve.h"

namespace ps {
namespace {

class RedsyncSelector final : public Selector {
 public:
  explicit RedsyncSelector(const CompressorOptions& options)
      : exact_tail_(options.config.redsync().exact_tail()),
        kernels_(&options.backend->sparse()),
        sieve_(kernels_) {
    const RedsyncConfig& config = options.config.redsync();
    rule_.kind = config.search() == RedsyncConfig::TRIMMED
                     ? ThresholdRule::Kind::kDescent
                     : ThresholdRule::Kind::kBisection;
    rule_.step = config.step();
    rule_.fixed_step = config.fixed_step();
  }

  absl::Status Select(const SelectorInput& input, Selected* selected,
                      CompressionStats* stats) override {
    const int64_t k = input.target_count;
    if (k == input.n) {
      return SelectEverything(input, kernels_, selected, stats);
    }
    rule_.k = k;
    PS_RETURN_IF_ERROR(sieve_.Form(input, {rule_, {}, k}, stats));
    if (stats->non_finite) return absl::OkStatus();
    PS_RETURN_IF_ERROR(sieve_.Select(rule_, selected, stats));
    if (!exact_tail_) return absl::OkStatus();
    return sieve_.Trim(k, "tail", selected, stats);
  }

 private:
  const bool exact_tail_;
  SparseKernels* const kernels_;  // Not owned.
  ThresholdRule rule_;
  ThresholdSieve sieve_;
};

absl::StatusOr<std::unique_ptr<Compressor>> NewRedsync(
    const CompressorOptions& options) {
  return NewSparsifier(options, std::make_unique<RedsyncSelector>(options));
}

REGISTER_COMPRESSOR("redsync", NewRedsync);

}  // namespace
}  // namespace ps
