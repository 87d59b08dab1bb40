// The folders in which runs are recorded.
#ifndef COMMON_RUN_DIRECTORY_H_
#define COMMON_RUN_DIRECTORY_H_

#include <string>

#include "absl/status/status.h"

namespace ps {

// "runs/NAME-20261121-143005", with the current time, or "...-2" and so on if
// that is taken. Characters of the name that might mean something to a shell or
// a file system become "_".
std::string DefaultRunDirectory(const std::string& name);

// Creates the folder if necessary. Errors: kAlreadyExists if it is not empty;
// those of the system.
absl::Status MakeRunDirectory(const std::string& path);

}  // namespace ps

#endif  // COMMON_RUN_DIRECTORY_H_
