// Finds the programs of this project.
#ifndef TOOLS_PROCESS_FIND_PROGRAM_H_
#define TOOLS_PROCESS_FIND_PROGRAM_H_

#include <string>

#include "absl/status/statusor.h"

namespace ps {

// The path with which to start the running program again. In a bundle
// (docs/several_hosts.md) that is its launcher.
absl::StatusOr<std::string> OwnProgram();

// The path of another program, "server" or "worker". A build puts each program
// into the directory of its own folder; an installation may have them side by
// side. Both places are searched, relative to this program. Errors: kNotFound
// with the places; kPermissionDenied.
absl::StatusOr<std::string> FindProgram(const std::string& name);

// The file that this process has mapped at `address`: the program, or a shared
// library. Errors: kInternal if /proc/self/maps does not say.
absl::StatusOr<std::string> FileOfCode(const void* address);

// The path that starts the program in `file`: its launcher, "tools/gradsieve"
// for "tools/elf/gradsieve", or the file itself if there is no launcher.
std::string StartedAs(const std::string& file);

}  // namespace ps

#endif  // TOOLS_PROCESS_FIND_PROGRAM_H_
