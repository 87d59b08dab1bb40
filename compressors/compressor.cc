#include "compressors/compressor.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
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

std::set<std::string>& NamesWithOwnCode() {
  static auto* const names = new std::set<std::string>;
  return *names;
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
  ConfigProblems problems;
  CheckOwnCode(options.config, "", &problems);
  if (!problems.lines().empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(problems.lines(), "; "));
  }
  if (!(options.config.ratio() > 0 && options.config.ratio() <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ratio is ", options.config.ratio(), "; must be in (0, 1]"));
  }
  PS_RETURN_IF_ERROR(CheckSizes(options));
  PS_RETURN_IF_ERROR(CheckTensors(options));
  return factory(options);
}

bool WritesOwnCode(const std::string& name) {
  return NamesWithOwnCode().count(name) > 0;
}

void CheckOwnCode(const CompressorConfig& config, const std::string& path,
                  ConfigProblems* problems) {
  if (!WritesOwnCode(config.name())) return;
  const CompressorConfig& defaults = CompressorConfig::default_instance();
  const auto check = [&](const std::string& field, const std::string& value,
                         const std::string& unset) {
    if (value == unset) return;
    problems->Add(
        path + field, absl::StrCat("\"", value, "\""),
        absl::StrCat(config.name(), " writes a code of its own; must be \"",
                     unset, "\", the default"));
  };
  check("index_code", config.index_code(), defaults.index_code());
  check("value_code", config.value_code(), defaults.value_code());
}

bool RegisterOwnCode(const std::string& name) {
  return NamesWithOwnCode().insert(name).second;
}

}  // namespace ps
