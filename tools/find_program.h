// Where the programs of this project are.
#ifndef TOOLS_FIND_PROGRAM_H_
#define TOOLS_FIND_PROGRAM_H_

#include <string>

#include "absl/status/statusor.h"

namespace ps {

// What to run to start the program that runs now once more. In a bundle
// (docs/bundle.md) that is its launcher.
absl::StatusOr<std::string> OwnProgram();

// The path of another one, "server" or "worker". The build leaves each in its
// folder's own directory; an installation may have them side by side. Both are
// looked for beside this program. Errors: kNotFound with the places.
absl::StatusOr<std::string> FindProgram(const std::string& name);

// The file that this process has mapped at `address`: the program, or a shared
// library. Errors: kInternal if /proc/self/maps does not say.
absl::StatusOr<std::string> FileOfCode(const void* address);

// What starts the program in `file`: its launcher, "tools/gradsieve" for
// "tools/elf/gradsieve", or the file itself where there is none.
std::string StartedAs(const std::string& file);

}  // namespace ps

#endif  // TOOLS_FIND_PROGRAM_H_
