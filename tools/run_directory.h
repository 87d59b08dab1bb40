// The folders in which runs are recorded.
#ifndef TOOLS_RUN_DIRECTORY_H_
#define TOOLS_RUN_DIRECTORY_H_

#include <string>

#include "absl/status/status.h"

namespace ps {

// "runs/NAME-20261121-143005": now.
std::string DefaultRunDirectory(const std::string& name);

// Makes it, if need be. Errors: kAlreadyExists if there is something in it;
// what the system reports.
absl::Status MakeRunDirectory(const std::string& path);

}  // namespace ps

#endif  // TOOLS_RUN_DIRECTORY_H_
