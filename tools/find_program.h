// Where the programs of this project are.
#ifndef TOOLS_FIND_PROGRAM_H_
#define TOOLS_FIND_PROGRAM_H_

#include <string>

#include "absl/status/statusor.h"

namespace ps {

// The path of the program that runs now.
absl::StatusOr<std::string> OwnProgram();

// The path of another one, "server" or "worker". The build leaves each in its
// folder's own directory; an installation may have them side by side. Both are
// looked for beside this program. Errors: kNotFound with the places.
absl::StatusOr<std::string> FindProgram(const std::string& name);

}  // namespace ps

#endif  // TOOLS_FIND_PROGRAM_H_
