#include "tools/launch/run_together.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "common/status_macros.h"
#include "tools/launch/remote_command.h"

namespace ps {

absl::StatusOr<std::vector<CommandResult>> RunTogether(
    const std::vector<ShortCommand>& commands, Interrupts* interrupts) {
  std::vector<CommandResult> results(commands.size());
  SubprocessCallbacks callbacks;
  callbacks.on_line = [&](int child, OutputStream stream,
                          absl::string_view line) {
    std::string* const text = stream == OutputStream::kStdout
                                  ? &results[child].out
                                  : &results[child].error;
    absl::ConsumeSuffix(&line, "\r");  // Lines of ssh itself end with it.
    absl::StrAppend(text, text->empty() ? "" : "\n", line);
  };
  callbacks.on_exit = [&](int child, const ProcessExit& exit) {
    results[child].exit = exit;
  };
  Subprocesses children(callbacks);
  for (const ShortCommand& command : commands) {
    PS_RETURN_IF_ERROR(
        children.Start(command.arguments, kOwnNetwork, command.input).status());
  }
  while (children.num_running() > 0) {
    PS_RETURN_IF_ERROR(children.Poll(absl::InfiniteFuture(), interrupts->fd()));
    if (interrupts->Take() > 0) return absl::CancelledError("interrupted");
  }
  return results;
}

absl::Status ResultOnHost(const std::string& host,
                          const CommandResult& result) {
  if (result.exit.ok()) return absl::OkStatus();
  const std::string said =
      result.error.empty() ? DescribeExit(result.exit) : result.error;
  if (result.exit.code != kExitSshFailed) {
    return absl::AbortedError(absl::StrCat(host, ": ", said));
  }
  return absl::AbortedError(absl::StrCat(
      host, ": ssh failed: ", said, "\nThis must work without a password: ssh ",
      "-o BatchMode=yes ", host,
      " true\nIf it needs options, give them with --ssh or write them into "
      "~/.ssh/config"));
}

}  // namespace ps
