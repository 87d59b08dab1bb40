#include "tools/command_line/options.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {

absl::Status CheckOptionRanges(std::initializer_list<OptionRange> ranges) {
  for (const OptionRange& range : ranges) {
    if (range.value >= range.least && range.value <= range.most) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", range.option, " is ", range.value, "; must be in [",
                     range.least, ", ", range.most, "]"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<AtomicFile>> OpenOutput(const std::string& path) {
  std::optional<AtomicFile> file;
  if (!path.empty()) {
    PS_ASSIGN_OR_RETURN(AtomicFile made, AtomicFile::Create(path));
    file.emplace(std::move(made));
  }
  return file;
}

absl::Status CommitOutput(const std::string& text,
                          std::optional<AtomicFile>* file) {
  if (!file->has_value()) return absl::OkStatus();
  PS_RETURN_IF_ERROR((*file)->Append(text));
  return (*file)->Commit();
}

}  // namespace ps
