// RedSync: finds a threshold between the mean and the largest magnitude by
// trial (Fang, Fu, Yang, Hsieh, "RedSync: Reducing synchronization bandwidth
// for distributed deep learning training system", arXiv 1808.04357). The trials
// are in threshold_search.h.
#include <memory>

#include "compressors/selectors/sparsifier.h"
#include "compressors/selectors/trial_selector.h"

namespace ps {
namespace {

absl::StatusOr<std::unique_ptr<Compressor>> NewRedsync(
    const CompressorOptions& options) {
  const RedsyncConfig& config = options.config.redsync();
  ThresholdRule rule;
  rule.kind = config.search() == RedsyncConfig::TRIMMED
                  ? ThresholdRule::Kind::kDescent
                  : ThresholdRule::Kind::kBisection;
  rule.step = config.step();
  rule.fixed_step = config.fixed_step();
  return NewSparsifier(options, NewTrialSelector(rule, config.exact_tail(),
                                                 &options.backend->sparse()));
}

REGISTER_COMPRESSOR(
    "redsync",
    "elements above a threshold between mean and maximum, found by trial",
    NewRedsync);

}  // namespace
}  // namespace ps
