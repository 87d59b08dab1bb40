// Options that several commands have.
#ifndef TOOLS_COMMAND_LINE_OPTIONS_H_
#define TOOLS_COMMAND_LINE_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file.h"

namespace ps {

// Checks that `value` is in [least, most]. Errors: kInvalidArgument naming the
// option (without its dashes), the value and the range.
absl::Status CheckOptionRange(absl::string_view option, int64_t value,
                              int64_t least, int64_t most);

// The file of an option --json=FILE. To be called before anything is measured,
// so that a path that cannot be written is reported at once. Returns no file
// for an empty path. Errors: those of AtomicFile.
absl::StatusOr<std::optional<AtomicFile>> OpenJsonFile(const std::string& path);

// Writes the file, if there is one, and makes it appear.
absl::Status CommitJsonFile(const std::string& json,
                            std::optional<AtomicFile>* file);

}  // namespace ps

#endif  // TOOLS_COMMAND_LINE_OPTIONS_H_
