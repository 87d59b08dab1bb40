// Creates the folders in which runs are recorded.
#ifndef COMMON_RUN_DIRECTORY_H_
#define COMMON_RUN_DIRECTORY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ps {

// Creates "runs/NAME-20261121-143005", with the current time, or "...-2" and so
// on if that exists, and returns its path, which no other process has made.
// Characters of the name that might mean something to a shell or a file system
// become "_". Errors: those of the system.
absl::StatusOr<std::string> MakeDefaultRunDirectory(const std::string& name);

// Creates the folder if necessary, for several runs that have folders in it.
// Errors: kAlreadyExists if it is not empty; those of the system.
absl::Status MakeFolderOfRuns(const std::string& path);

// Creates the folder if necessary, and in it the folder "logs", which only one
// process can create. Errors: kAlreadyExists if the folder is not empty; those
// of the system.
absl::Status MakeRunDirectory(const std::string& path);

// Returns the file of a job, given as such or as the directory of its run.
std::string JobFileOf(const std::string& job_or_run);

}  // namespace ps

#endif  // COMMON_RUN_DIRECTORY_H_
