// Commands for other hosts, and the scripts that run there.
#ifndef TOOLS_LAUNCH_REMOTE_COMMAND_H_
#define TOOLS_LAUNCH_REMOTE_COMMAND_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace ps {

// The exit code of ssh itself if it cannot reach a host, or loses it.
constexpr int kExitSshFailed = 255;

// The word as POSIX shells and csh read it back. A line end is only for the
// former.
std::string QuoteForShell(absl::string_view word);
std::string QuoteForShell(const std::vector<std::string>& words);

// The arguments for Spawn() that run `command` by the login shell of `host`.
// `ssh` is a command for the shell, as in "ssh -F my_config", whose options
// take precedence over ours. Without `output_file`, output is the child's.
std::vector<std::string> SshArguments(const std::string& ssh,
                                      const std::string& host,
                                      const std::string& command,
                                      const std::string& output_file = "");

// A POSIX script, used as
//   sh SCRIPT SECONDS PROGRAM ARGUMENT...
// which runs the program as long as standard input is open. Each line that
// comes, and the end of the input, sends SIGTERM to the program: so it ends if
// whoever has started it asks for it, dies, or cannot be reached any more.
// SIGKILL follows SECONDS after the end of the input. The script ends with the
// program's exit code, or 128 + the signal that ended it.
extern const char kLifelineScript[];

// The command with which the script in `script` runs a program on a host.
std::string LifelineCommand(const std::string& script, int seconds,
                            const std::vector<std::string>& arguments);

// Part of a script for sh that fails, and names the program on stderr, unless
// all of these programs run.
std::string CheckProgramsCommand(const std::vector<std::string>& programs);

// Part of a script for sh that writes a file, under another name first. `path`
// is relative to the folder of the script.
std::string WriteFileCommand(const std::string& path,
                             absl::string_view contents);

}  // namespace ps

#endif  // TOOLS_LAUNCH_REMOTE_COMMAND_H_
