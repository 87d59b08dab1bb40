#include "tools/launch/results.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "tools/launch/host_files.h"
#include "tools/launch/remote_command.h"
#include "tools/launch/run_together.h"

namespace ps {
namespace {

namespace fs = std::filesystem;

struct ResultFile {
  std::string name;
  bool is_always_there = false;
};

// The files to fetch, the last one last.
absl::StatusOr<std::vector<ResultFile>> FilesOf(const LaunchedJob& job,
                                                Interrupts* interrupts) {
  // A user's command may train nothing, and saves its weights itself.
  const bool is_worker = job.worker_command.empty();
  std::vector<ResultFile> files = {
      {"weights.safetensors", is_worker},
      {"metrics.jsonl", is_worker},
      {"best.safetensors"},
      {"classes.txt"},
      {"trace.json"},
  };
  const std::string& host = job.HostOfWorker0().name;
  PS_ASSIGN_OR_RETURN(
      const std::vector<CommandResult> results,
      RunTogether(
          {{SshArguments(job.record.ssh, host,
                         "ls " + QuoteForShell(RemoteRecords(job.folder)))}},
          interrupts));
  PS_RETURN_IF_ERROR(ResultOnHost(host, results[0]));
  for (const absl::string_view name : absl::StrSplit(results[0].out, '\n')) {
    if (absl::StartsWith(name, "events.out.tfevents.") &&
        QuoteForShell(name) == name) {
      files.push_back({std::string(name)});
    }
  }
  files.push_back({"summary.json", is_worker});
  return files;
}

absl::Status Fetch(const LaunchedJob& job, const ResultFile& file,
                   Interrupts* interrupts) {
  const std::string& host = job.HostOfWorker0().name;
  const std::string source =
      absl::StrCat(RemoteRecords(job.folder), "/", file.name);
  const std::string target = absl::StrCat(job.run_directory, "/", file.name);
  const std::string part = target + ".part";
  PS_ASSIGN_OR_RETURN(
      const std::vector<CommandResult> results,
      RunTogether(
          {{SshArguments(job.record.ssh, host,
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
    return absl::NotFoundError(absl::StrCat(host, ": there is no ~/", source));
  }
  return ResultOnHost(host, result);
}

}  // namespace

absl::Status FetchResults(const LaunchedJob& job, Interrupts* interrupts) {
  PS_ASSIGN_OR_RETURN(const std::vector<ResultFile> files,
                      FilesOf(job, interrupts));
  for (const ResultFile& file : files) {
    PS_RETURN_IF_ERROR(Fetch(job, file, interrupts));
  }
  return absl::OkStatus();
}

}  // namespace ps
