// Programs of the system, as an administrator would call them.
#ifndef TOOLS_BENCH_NETWORK_SYSTEM_COMMAND_H_
#define TOOLS_BENCH_NETWORK_SYSTEM_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/spawn.h"

namespace ps {

// The path of a program: in the folders that Linux systems have for them, for
// an ordinary user's PATH lacks those of the administrator. Errors: kNotFound.
absl::StatusOr<std::string> FindSystemProgram(
    const std::string& name, const std::vector<std::string>& folders = {
                                 "/usr/sbin", "/sbin", "/usr/bin", "/bin"});

// Runs it to its end in the network namespace that a descriptor is open on, as
// of Spawn(). arguments[0] is a name for FindSystemProgram. Errors: its;
// kInternal with the command, how it ended and what it said.
absl::Status RunSystemCommand(const std::vector<std::string>& arguments,
                              int network_namespace = kOwnNetwork);

}  // namespace ps

#endif  // TOOLS_BENCH_NETWORK_SYSTEM_COMMAND_H_
