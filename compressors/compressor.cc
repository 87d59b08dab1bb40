#include "compressors/compressor.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config_check.h"
#include "common/status_macros.h"
#include "compressors/combination_check.h"
#include "compressors/payload.h"
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

}  // namespace

Registry<CompressorFactory>& CompressorRegistry() {
  static auto* const registry = new Registry<CompressorFactory>("compressor");
  return *registry;
}

absl::StatusOr<std::unique_ptr<Compressor>> NewCompressor(
    const CompressorOptions& options) {
  CHECK(options.backend != nullptr);
  PS_ASSIGN_OR_RETURN(const CompressorFactory factory,
                      CompressorRegistry().Find(options.config.name()));
  PayloadCodes codes;
  codes.index_code = options.config.index_code();
  codes.value_code = options.config.value_code();
  codes.value_config = options.config.values();
  PS_RETURN_IF_ERROR(CheckPayloadCodes(codes));
  if (!(options.config.ratio() > 0 && options.config.ratio() <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ratio is ", options.config.ratio(), "; must be in (0, 1]"));
  }
  ConfigProblems problems;
  CheckCombination(options.config, "", &problems);
  if (!problems.lines().empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(problems.lines(), "; "));
  }
  PS_RETURN_IF_ERROR(CheckSizes(options));
  return factory(options);
}

}  // namespace ps
