#include "tools/command_line/options.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {

absl::Status CheckOptionRange(absl::string_view option, int64_t value,
                              int64_t least, int64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--", option, " is ", value, "; must be in [", least, ", ", most, "]"));
}

absl::StatusOr<std::optional<AtomicFile>> OpenJsonFile(
    const std::string& path) {
  std::optional<AtomicFile> file;
  if (!path.empty()) {
    PS_ASSIGN_OR_RETURN(AtomicFile made, AtomicFile::Create(path));
    file.emplace(std::move(made));
  }
  return file;
}

absl::Status CommitJsonFile(const std::string& json,
                            std::optional<AtomicFile>* file) {
  if (!file->has_value()) return absl::OkStatus();
  PS_RETURN_IF_ERROR((*file)->Append(json));
  return (*file)->Commit();
}

}  // namespace ps
