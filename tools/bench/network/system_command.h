// Runs programs of the system, as an administrator would.
#ifndef TOOLS_BENCH_NETWORK_SYSTEM_COMMAND_H_
#define TOOLS_BENCH_NETWORK_SYSTEM_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/process/spawn.h"

namespace ps {

// The path of a program. Searches the usual folders of Linux systems, because
// an ordinary user's PATH lacks those of the administrator. Errors: kNotFound.
absl::StatusOr<std::string> FindSystemProgram(
    const std::string& name, const std::vector<std::string>& folders = {
                                 "/usr/sbin", "/sbin", "/usr/bin", "/bin"});

// Runs a program to its end in the given network namespace (see Spawn()).
// arguments[0] is a name for FindSystemProgram. Errors: those of
// FindSystemProgram; kInternal with the command, how it ended and its output.
absl::Status RunSystemCommand(const std::vector<std::string>& arguments,
                              int network_namespace = kOwnNetwork);

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_SYSTEM_COMMAND_H_
