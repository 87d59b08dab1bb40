#include "compressors/new_compressor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/field_rules.h"
#include "common/status_macros.h"
#include "compressors/combination_check.h"
#include "compressors/payload/payload.h"
#include "compressors/wrappers/gradient_clipping.h"
#include "compressors/wrappers/momentum_correction.h"
#include "compressors/wrappers/partial_feedback.h"
#include "compressors/wrappers/ratio_warmup.h"
#include "glog/logging.h"

namespace ps {
namespace {

absl::Status CheckSizes(const CompressorOptions& options) {
  if (options.dense_size < 0 || options.dense_size > kMaxDenseSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("dense_size is ", options.dense_size,
                     "; must be at least 0 and below 2^32"));
  }
  if (options.part_ends.empty()) return absl::OkStatus();
  int64_t begin = 0;
  for (const int64_t end : options.part_ends) {
    if (end < begin) {
      return absl::InvalidArgumentError(absl::StrCat(
          "part_ends has ", end, " after ", begin, "; must ascend"));
    }
    begin = end;
  }
  if (begin != options.dense_size) {
    return absl::InvalidArgumentError(absl::StrCat("part_ends ends in ", begin,
                                                   "; must end in dense_size, ",
                                                   options.dense_size));
  }
  return absl::OkStatus();
}

absl::Status CheckTensors(const CompressorOptions& options) {
  if (options.tensors.empty()) return absl::OkStatus();
  int64_t end = 0;
  for (const TensorSpan& tensor : options.tensors) {
    if (tensor.begin != end) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a tensor begins at ", tensor.begin, "; must begin at ", end));
    }
    end += NumElements(tensor.shape);
  }
  if (end == options.dense_size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("tensors end at ", end,
                                                 "; must end at dense_size, ",
                                                 options.dense_size));
}

absl::Status CheckOptions(const CompressorOptions& options) {
  PayloadCodes codes;
  codes.index_code = options.config.index_code();
  codes.value_code = options.config.value_code();
  codes.value_config = options.config.values();
  PS_RETURN_IF_ERROR(CheckFields(options.config));
  PS_RETURN_IF_ERROR(CheckPayloadCodes(codes));
  if (options.num_workers < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "num_workers is ", options.num_workers, "; must be at least 1"));
  }
  ConfigProblems problems;
  CheckOwnCode(options.config, "", &problems);
  if (!FindCompressor(options.config.name()).writes_own_code) {
    CheckCombination(options.config, "", &problems);
  }
  CheckWrappers(options.config, "", &problems);
  PS_RETURN_IF_ERROR(problems.ToStatus());
  PS_RETURN_IF_ERROR(CheckSizes(options));
  return CheckTensors(options);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Compressor>> NewCompressor(
    const CompressorOptions& options) {
  PS_ASSIGN_OR_RETURN(const CompressorPlugin plugin,
                      CompressorRegistry().Find(options.config.name()));
  return NewCompressor(options, plugin.factory);
}

absl::StatusOr<std::unique_ptr<Compressor>> NewCompressor(
    const CompressorOptions& options, const CompressorFactory& factory) {
  CHECK(options.backend != nullptr);
  const CompressorConfig& config = options.config;
  PS_RETURN_IF_ERROR(CheckOptions(options));
  PS_ASSIGN_OR_RETURN(std::unique_ptr<Compressor> compressor,
                      config.warmup().stages() > 0
                          ? NewRatioWarmup(options, factory)
                          : factory(options));
  if (config.feedback_share() < 1 || config.feedback_decay() < 1) {
    PS_ASSIGN_OR_RETURN(compressor,
                        NewPartialFeedback(options, std::move(compressor)));
  }
  if (config.momentum_correction().momentum() > 0) {
    PS_ASSIGN_OR_RETURN(compressor,
                        NewMomentumCorrection(options, std::move(compressor)));
  }
  if (config.clip_norm() > 0) {
    PS_ASSIGN_OR_RETURN(compressor,
                        NewGradientClipping(options, std::move(compressor)));
  }
  return compressor;
}

void CheckWrappers(const CompressorConfig& config, const std::string& path,
                   ConfigProblems* problems) {
  problems->CheckThat(
      config.momentum_correction().momentum() == 0 || config.error_feedback(),
      path + "error_feedback", "false",
      "must be true with momentum_correction, which adds to the residual");
  problems->CheckThat(
      config.feedback_share() == 1 || config.error_feedback(),
      path + "error_feedback", "false",
      "must be true with feedback_share below 1, which is about the residual");
  problems->CheckThat(
      config.feedback_decay() == 1 || config.error_feedback(),
      path + "error_feedback", "false",
      "must be true with feedback_decay below 1, which is about the residual");
}

}  // namespace ps
