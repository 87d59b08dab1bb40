#include "tools/command_line/compressor_argument.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/config.h"
#include "common/status_macros.h"
#include "common/text_file.h"

namespace ps {
namespace {

absl::StatusOr<CompressorConfig> Parse(const std::string& argument) {
  std::error_code error;
  if (std::filesystem::exists(argument, error)) {
    PS_ASSIGN_OR_RETURN(const std::string text, ReadText(argument));
    return ParseCompressorConfig(text, argument);
  }
  // Every config text has a colon or a brace; few file names do.
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

bool NeedsTensorShapes(const std::string& compressor) {
  // It sends a vector, which is not a matrix, uncompressed.
  return compressor == "powersgd";
}

absl::Status ValidateCompressorConfig(const CompressorConfig& config) {
  if (NeedsTensorShapes(config.name())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "compressor.name is \"", config.name(),
        "\"; needs the shapes of the tensors, which a vector, as in a .npy "
        "file, does not have"));
  }
  // All other fields are at their defaults, which are valid.
  JobConfig job;
  *job.mutable_compressor() = config;
  // A config with votes is refused unless the optimizer counts them.
  job.mutable_optimizer()->set_majority_vote(config.value_code() == "sign" &&
                                             config.values().sign_scale() ==
                                                 ValueCodeConfig::ONE);
  return ValidateConfig(job);
}

}  // namespace ps
