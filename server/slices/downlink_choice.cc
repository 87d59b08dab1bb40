#include "server/slices/downlink_choice.h"

#include "common/consistency.h"
#include "compressors/compressor.h"
#include "compressors/payload/payload.h"
#include "optimizers/pushed_only.h"

namespace ps {
namespace {

// Whether the job's compressor can also compress the downlink.
bool CompressesBothWays(const JobConfig& job) {
  const CompressorConfig& compressor = job.compressor();
  const CompressorPlugin plugin = FindCompressor(compressor.name());
  return compressor.name() != "none" && plugin.has_target_ratio &&
         !plugin.writes_own_code && !plugin.chooses_by_time &&
         compressor.error_feedback() && !UpdatesByEachPush(job);
}

// The largest relative squared error of a code that the config did not ask for.
constexpr double kLittle = 0.25;

// Whether the job's value code can also code the downlink.
bool CodesBothWays(const JobConfig& job) {
  const CompressorConfig& compressor = job.compressor();
  if (FindCompressor(compressor.name()).writes_own_code ||
      compressor.value_code() == "fp32" || UpdatesByEachPush(job)) {
    return false;
  }
  PayloadCodes codes;
  codes.value_code = compressor.value_code();
  codes.value_config = compressor.values();
  return CodingVariance(codes) <= kLittle;
}

}  // namespace

DownlinkConfig ChosenDownlink(const JobConfig& job) {
  DownlinkConfig chosen = job.downlink();
  if (chosen.mode() != DownlinkConfig::AUTO) return chosen;
  if (ChangesOnlyWhatWasPushed(job)) {
    chosen.set_mode(DownlinkConfig::UPDATE);
    if (CodesBothWays(job) && job.downlink().value_code() == "fp32") {
      CompressorConfig* const codes = chosen.mutable_compressor();
      codes->set_value_code(job.compressor().value_code());
      *codes->mutable_values() = job.compressor().values();
    }
  } else if (CompressesBothWays(job)) {
    chosen.set_mode(DownlinkConfig::COMPRESSED);
    CompressorConfig* const compressor = chosen.mutable_compressor();
    *compressor = job.compressor();
    // These options are for gradients.
    compressor->clear_momentum_correction();
    compressor->clear_clip_norm();
    compressor->clear_feedback_share();
    compressor->clear_feedback_decay();
    compressor->clear_warmup();
  } else {
    chosen.set_mode(DownlinkConfig::WEIGHTS);
  }
  return chosen;
}

}  // namespace ps
