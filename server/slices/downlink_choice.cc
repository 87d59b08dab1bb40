#include "server/slices/downlink_choice.h"

#include "common/consistency.h"
#include "compressors/compressor.h"
#include "optimizers/pushed_only.h"

namespace ps {
namespace {

// Whether the job's compressor can also compress what servers send.
bool CompressesBothWays(const JobConfig& job) {
  const CompressorConfig& compressor = job.compressor();
  const CompressorPlugin plugin = FindCompressor(compressor.name());
  return compressor.name() != "none" && plugin.has_target_ratio &&
         !plugin.writes_own_code && !plugin.chooses_by_time &&
         compressor.error_feedback() && !UpdatesByEachPush(job);
}

}  // namespace

DownlinkConfig ChosenDownlink(const JobConfig& job) {
  DownlinkConfig chosen = job.downlink();
  if (chosen.mode() != DownlinkConfig::AUTO) return chosen;
  if (ChangesOnlyWhatWasPushed(job)) {
    chosen.set_mode(DownlinkConfig::UPDATE);
  } else if (CompressesBothWays(job)) {
    chosen.set_mode(DownlinkConfig::COMPRESSED);
    CompressorConfig* const compressor = chosen.mutable_compressor();
    *compressor = job.compressor();
    // These are for gradients.
    compressor->clear_momentum_correction();
    compressor->clear_clip_norm();
    compressor->clear_warmup();
  } else {
    chosen.set_mode(DownlinkConfig::WEIGHTS);
  }
  return chosen;
}

}  // namespace ps
