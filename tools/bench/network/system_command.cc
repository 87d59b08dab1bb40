#include "tools/bench/network/system_command.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "tools/process/subprocesses.h"

namespace ps {

absl::StatusOr<std::string> FindSystemProgram(
    const std::string& name, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    std::string path = absl::StrCat(folder, "/", name);
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return absl::NotFoundError(absl::StrCat(
      "there is no program \"", name, "\" in ", absl::StrJoin(folders, ", ")));
}

absl::Status RunSystemCommand(const std::vector<std::string>& arguments,
                              int network_namespace) {
  std::vector<std::string> command = arguments;
  PS_ASSIGN_OR_RETURN(command.at(0), FindSystemProgram(arguments.at(0)));
  std::vector<std::string> lines;
  ProcessExit end;
  SubprocessCallbacks callbacks;
  callbacks.on_line = [&lines](int, OutputStream, absl::string_view line) {
    lines.emplace_back(line);
  };
  callbacks.on_exit = [&end](int, const ProcessExit& exit) { end = exit; };
  Subprocesses processes(callbacks);
  PS_RETURN_IF_ERROR(processes.Start(command, network_namespace).status());
  while (processes.num_running() > 0) {
    PS_RETURN_IF_ERROR(processes.Poll(absl::InfiniteFuture()));
  }
  if (end.ok()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      "\"", absl::StrJoin(arguments, " "), "\" ", DescribeExit(end),
      lines.empty() ? "" : ": ", absl::StrJoin(lines, "; ")));
}

}  // namespace ps
