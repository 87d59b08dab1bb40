// Checks the compressor part of a job, and reports every problem in it.
#include "common/config_check.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/consistency.h"
#include "common/field_rules.h"
#include "common/nearest_word.h"
#include "compressors/automatic/options_check.h"
#include "compressors/combination_check.h"
#include "compressors/compressor.h"
#include "compressors/new_compressor.h"
#include "compressors/payload/payload.h"
#include "proto/config.pb.h"

namespace ps {
namespace {

void CheckName(const std::string& field, const std::string& name,
               const std::vector<std::string>& known,
               ConfigProblems* problems) {
  for (const std::string& each : known) {
    if (each == name) return;
  }
  problems->Add(field, absl::StrCat("\"", name, "\""),
                MustBeOneOf(name, known));
}

// Checks what the wrappers of a compressor require from the rest of the job.
void CheckJobOfWrappers(const JobConfig& config, ConfigProblems* problems) {
  const CompressorConfig& compressor = config.compressor();
  problems->CheckThat(
      compressor.momentum_correction().momentum() == 0 ||
          config.optimizer().name() == "sgd",
      "optimizer.name", absl::StrCat("\"", config.optimizer().name(), "\""),
      "must be \"sgd\" with compressor.momentum_correction, which is the "
      "momentum");
  problems->CheckThat(
      compressor.feedback_share() == 1 || !config.has_worker_optimizer(),
      "compressor.feedback_share", compressor.feedback_share(),
      "must be 1 with worker_optimizer, whose own weights are ahead of "
      "the servers' by the whole residual");
  problems->CheckThat(
      compressor.feedback_decay() == 1 || !config.has_worker_optimizer() ||
          config.worker_optimizer().step_ahead() == 0,
      "compressor.feedback_decay", compressor.feedback_decay(),
      "must be 1 with worker_optimizer, whose own weights are ahead of the "
      "servers' by the residual, unless worker_optimizer.step_ahead is 0");
  problems->CheckThat(
      compressor.clip_norm() == 0 || config.training().bucket_megabytes() == 0,
      "training.bucket_megabytes", config.training().bucket_megabytes(),
      "must be 0 with compressor.clip_norm, which needs the norm of the "
      "whole gradient");
}

// Checks that workers which share positions are in the same iteration.
void CheckSharedPositions(const JobConfig& config, ConfigProblems* problems) {
  const std::string& name = config.compressor().name();
  const CompressorPlugin& plugin = FindCompressor(name);
  if (!plugin.shares_positions) return;
  const std::string why = absl::StrCat(" with compressor.name \"", name,
                                       "\", whose workers send the positions "
                                       "that one of them selects");
  problems->CheckThat(config.consistency().mean() == ConsistencyConfig::WORKERS,
                      "consistency.mean", "SENDERS", "must be WORKERS" + why);
  problems->CheckThat(!UpdatesByEachPush(config), "consistency.mode",
                      ConsistencyConfig::Mode_Name(config.consistency().mode()),
                      "must be SYNCHRONOUS" + why);
  problems->CheckThat(
      !MayLeaveOut(config) || plugin.slice_coder == nullptr,
      "consistency.step_timeout_seconds",
      config.consistency().step_timeout_seconds(),
      absl::StrCat("must be 0 with compressor.name \"", name,
                   "\", which decodes the values of all workers together"));
}

// Checks that votes and the majority vote come together.
void CheckVotes(const JobConfig& config, ConfigProblems* problems) {
  const CompressorConfig& compressor = config.compressor();
  const bool votes = compressor.value_code() == "sign" &&
                     compressor.values().sign_scale() == ValueCodeConfig::ONE;
  if (config.optimizer().majority_vote() &&
      FindCompressor(compressor.name()).chooses_by_time) {
    problems->Add(
        "optimizer.majority_vote", "true",
        absl::StrCat("must be false with compressor.name \"", compressor.name(),
                     "\", which sends values, not votes"));
  } else if (config.optimizer().majority_vote() && !votes) {
    problems->Add("optimizer.majority_vote", "true",
                  "needs votes: compressor.value_code \"sign\" with "
                  "compressor.values.sign_scale ONE");
  }
  if (config.optimizer().majority_vote() &&
      config.consistency().mean() != ConsistencyConfig::WORKERS) {
    problems->Add("consistency.mean", "SENDERS",
                  "must be WORKERS with optimizer.majority_vote, which takes "
                  "no mean");
  }
  if (votes && !config.optimizer().majority_vote()) {
    problems->Add("compressor.values.sign_scale", "ONE",
                  "needs optimizer.majority_vote");
  }
}

// Checks the compressor itself. Returns whether its codes are known.
bool CheckAlone(const CompressorConfig& compressor, const std::string& path,
                ConfigProblems* problems) {
  CheckName(path + "name", compressor.name(), CompressorRegistry().Names(),
            problems);
  CheckName(path + "index_code", compressor.index_code(), IndexCodeNames(),
            problems);
  const size_t before = problems->lines().size();
  CheckName(path + "value_code", compressor.value_code(), ValueCodeNames(),
            problems);
  const bool known = problems->lines().size() == before &&
                     CheckFields(compressor.values()).ok();
  if (known) {
    CheckOwnCode(compressor, path, problems);
    if (!FindCompressor(compressor.name()).writes_own_code) {
      CheckCombination(compressor, path, problems);
    }
  }
  CheckAutoOptions(compressor, path, problems);
  return known;
}

// Checks the downlink, which has one compressor, whose error feedback is the
// server's.
void CheckDownlink(const JobConfig& config, ConfigProblems* problems) {
  const std::string path = "downlink.compressor.";
  const CompressorConfig& compressor = config.downlink().compressor();
  const std::string name = absl::StrCat("\"", compressor.name(), "\"");
  const DownlinkConfig::Mode mode = config.downlink().mode();
  if (mode != DownlinkConfig::COMPRESSED) {
    if (!SendsDifferences(config.downlink())) return;
    problems->CheckThat(
        mode == DownlinkConfig::UPDATE || mode == DownlinkConfig::MEAN,
        "downlink.mode", DownlinkConfig::Mode_Name(mode),
        "must be UPDATE, COMPRESSED or MEAN with a downlink.compressor; AUTO "
        "takes the job's own");
    problems->CheckThat(
        mode == DownlinkConfig::MEAN || compressor.name() == "none",
        path + "name", name,
        "must be \"none\" with downlink.mode UPDATE, which sends every "
        "element that changed; COMPRESSED leaves elements out");
  }
  CheckAlone(compressor, path, problems);
  const CompressorPlugin plugin = FindCompressor(compressor.name());
  problems->CheckThat(
      compressor.name() != "none" || compressor.value_code() != "fp32",
      path + "name", name,
      "must leave elements out, or have a value_code of fewer than 32 "
      "bits; downlink.mode AUTO uses the job's compressor");
  problems->CheckThat(!plugin.writes_own_code, path + "name", name,
                      "must be one that does not treat each tensor separately");
  problems->CheckThat(
      !plugin.chooses_by_time, path + "name", name,
      absl::StrCat("must be another: ", name,
                   " chooses by the time that a worker's iterations "
                   "take"));
  problems->CheckThat(
      compressor.error_feedback(), path + "error_feedback", "false",
      "must be true: what is left out comes with a later answer");
  problems->CheckThat(compressor.momentum_correction().momentum() == 0,
                      path + "momentum_correction.momentum",
                      compressor.momentum_correction().momentum(),
                      "must be 0: it is for gradients");
  problems->CheckThat(compressor.clip_norm() == 0, path + "clip_norm",
                      compressor.clip_norm(), "must be 0: it is for gradients");
  problems->CheckThat(compressor.feedback_share() == 1, path + "feedback_share",
                      compressor.feedback_share(),
                      "must be 1: it is for gradients");
  problems->CheckThat(compressor.feedback_decay() == 1, path + "feedback_decay",
                      compressor.feedback_decay(),
                      "must be 1: it is for gradients");
  problems->CheckThat(compressor.warmup().stages() == 0, path + "warmup.stages",
                      compressor.warmup().stages(),
                      "must be 0: it is for gradients");
}

void CheckCompressor(const JobConfig& config, ConfigProblems* problems) {
  if (CheckAlone(config.compressor(), "compressor.", problems)) {
    CheckVotes(config, problems);
  }
  CheckWrappers(config.compressor(), "compressor.", problems);
  CheckJobOfWrappers(config, problems);
  CheckSharedPositions(config, problems);
  CheckDownlink(config, problems);
}

[[maybe_unused]] const bool registered = RegisterConfigCheck(CheckCompressor);

}  // namespace
}  // namespace ps
