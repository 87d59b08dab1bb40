// The file of an option --json=FILE.
#ifndef TOOLS_JSON_FILE_H_
#define TOOLS_JSON_FILE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/file.h"

namespace ps {

// To be called before anything is measured, so that a path that cannot be
// written is reported at once. Returns no file for an empty path. Errors: those
// of AtomicFile.
absl::StatusOr<std::optional<AtomicFile>> OpenJsonFile(const std::string& path);

// Writes the file, if there is one, and makes it appear.
absl::Status CommitJsonFile(const std::string& json,
                            std::optional<AtomicFile>* file);

}  // namespace ps

#endif  // TOOLS_JSON_FILE_H_
