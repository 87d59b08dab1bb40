#include "tools/advise/candidates.h"

#include <algorithm>

#include "common/config.h"
#include "common/consistency.h"
#include "common/status_macros.h"

namespace ps {
namespace {

constexpr char kCandidates[] =
    "none,none:bf16:downlink.value_code=bf16,sidco_e:0.01:int8_block,"
    "topk:0.01:int8_block,sidco_e:0.001:int8_block";
// For downlink.mode MEAN: scripts that take steps with the mean gradient.
constexpr char kCandidatesOfMeans[] =
    "none:downlink.compressor.value_code=fp32,"
    "none:bf16:downlink.compressor.value_code=bf16,"
    "none:int8_block:downlink.compressor.value_code=int8_block";
// The place of the job's own setting: after those without a compressor.
constexpr int kPlaceOfJob = 2;

}  // namespace

absl::StatusOr<std::vector<NetworkSetting>> CandidateSettings(
    const JobConfig& job) {
  JobConfig base = job;
  base.clear_compressor();
  base.clear_downlink();
  const bool means = AnswersMeans(job);
  if (means) base.mutable_downlink()->set_mode(job.downlink().mode());
  PS_ASSIGN_OR_RETURN(
      std::vector<NetworkSetting> settings,
      ParseSettings(means ? kCandidatesOfMeans : kCandidates, base));
  // The resolved text has all defaults, which a job may state or leave out.
  JobConfig after_warmup = job;
  after_warmup.mutable_compressor()->clear_warmup();
  const std::string text = ResolvedConfigText(after_warmup);
  const auto same = std::find_if(
      settings.begin(), settings.end(), [&text](const NetworkSetting& setting) {
        return ResolvedConfigText(setting.config) == text;
      });
  if (same != settings.end()) {
    *same = {same->name + kJobMark, job};
  } else {
    settings.insert(settings.begin() + kPlaceOfJob,
                    {job.compressor().name() + kJobMark, job});
  }
  return settings;
}

}  // namespace ps
