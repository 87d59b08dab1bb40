#include "tools/launch/results.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tools/launch/remote_command.h"
#include "tools/launch/run_together.h"

namespace ps {
namespace {

namespace fs = std::filesystem;

struct ResultFile {
  const char* name;
  bool is_always_there;
};

constexpr ResultFile kFiles[] = {
    {"weights.safetensors", true}, {"metrics.jsonl", true},
    {"best.safetensors", false},   {"classes.txt", false},
    {"trace.json", false},         {"summary.json", true},
};

absl::Status Fetch(const ResultsOptions& options, const ResultFile& file,
                   Interrupts* interrupts) {
  const std::string source = absl::StrCat(options.folder, "/", file.name);
  const std::string target =
      absl::StrCat(options.run_directory, "/", file.name);
  const std::string part = target + ".part";
  PS_ASSIGN_OR_RETURN(
      const std::vector<CommandResult> results,
      RunTogether(
          {{SshArguments(options.ssh, options.host,
                         absl::StrCat("test -f ", source, " && cat ", source),
                         part)}},
          interrupts));
  const CommandResult& result = results[0];
  std::error_code error;
  const bool is_missing = result.exit.signal == 0 && result.exit.code == 1 &&
                          fs::file_size(part, error) == 0;
  if (result.exit.ok()) {
    fs::rename(part, target, error);
    if (!error) return absl::OkStatus();
    return absl::ErrnoToStatus(error.value(), "cannot write " + target);
  }
  fs::remove(part, error);
  if (is_missing && !file.is_always_there) return absl::OkStatus();
  if (is_missing) {
    return absl::NotFoundError(
        absl::StrCat(options.host, ": there is no ~/", source));
  }
  return ResultOnHost(options.host, result);
}

}  // namespace

absl::Status FetchResults(const ResultsOptions& options,
                          Interrupts* interrupts) {
  for (const ResultFile& file : kFiles) {
    PS_RETURN_IF_ERROR(Fetch(options, file, interrupts));
  }
  return absl::OkStatus();
}

}  // namespace ps
