// Options that several commands have.
#ifndef TOOLS_COMMAND_LINE_OPTIONS_H_
#define TOOLS_COMMAND_LINE_OPTIONS_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file.h"

namespace ps {

struct OptionRange {
  absl::string_view option;  // Without its dashes.
  int64_t value = 0;
  // It must be in [least, most].
  int64_t least = 0;
  int64_t most = 0;
};

// Errors: kInvalidArgument naming the first option outside its range, its value
// and the range.
absl::Status CheckOptionRanges(std::initializer_list<OptionRange> ranges);

// The file of an option such as --json=FILE. To be called before anything is
// measured, so that a path that cannot be written is reported at once. Returns
// no file for an empty path. Errors: those of AtomicFile.
absl::StatusOr<std::optional<AtomicFile>> OpenOutput(const std::string& path);

// Writes the file, if there is one, and makes it appear.
absl::Status CommitOutput(const std::string& text,
                          std::optional<AtomicFile>* file);

}  // namespace ps

#endif  // TOOLS_COMMAND_LINE_OPTIONS_H_
