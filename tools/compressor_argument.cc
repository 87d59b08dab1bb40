#include "tools/compressor_argument.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/config.h"
#include "common/file.h"
#include "common/status_macros.h"

namespace ps {
namespace {

absl::StatusOr<CompressorConfig> Parse(const std::string& argument) {
  std::error_code error;
  if (std::filesystem::exists(argument, error)) {
    PS_ASSIGN_OR_RETURN(const std::string text, ReadFile(argument));
    return ParseCompressorConfig(text, argument);
  }
  // Every text has a colon or a brace; few names of files do.
  if (argument.find_first_of(":{") == std::string::npos) {
    return absl::NotFoundError(absl::StrCat(
        "there is no file \"", argument,
        "\", and as text it would have fields, as in 'name: \"topk\" ratio: "
        "0.01'"));
  }
  return ParseCompressorConfig(argument, "--compressor");
}

}  // namespace

absl::StatusOr<CompressorConfig> CompressorFromArgument(
    const std::string& argument) {
  PS_ASSIGN_OR_RETURN(CompressorConfig config, Parse(argument));
  PS_RETURN_IF_ERROR(ValidateCompressorConfig(config));
  return config;
}

absl::Status ValidateCompressorConfig(const CompressorConfig& config) {
  // All other fields are at their defaults, which are valid.
  JobConfig job;
  *job.mutable_compressor() = config;
  return ValidateConfig(job);
}

}  // namespace ps
