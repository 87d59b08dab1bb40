#include "tools/json_file.h"

#include <utility>

#include "common/status_macros.h"

namespace ps {

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
