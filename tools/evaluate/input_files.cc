#include "tools/evaluate/input_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "data/image_list.h"

namespace ps {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<std::vector<std::string>> ImagesIn(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end;
       !error && it != end; it.increment(error)) {
    const std::string path = it->path();
    std::error_code ignored;  // Of a broken link, which cannot be opened later.
    if (HasImageName(path) && !it->is_directory(ignored)) paths.push_back(path);
  }
  if (error) {
    return absl::ErrnoToStatus(error.value(),
                               absl::StrCat("cannot read ", folder));
  }
  if (paths.empty()) {
    return absl::NotFoundError(
        absl::StrCat(folder, " has no .jpg, .jpeg or .png file"));
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FindImageFiles(
    const std::vector<std::string>& inputs) {
  std::vector<std::string> paths;
  for (const std::string& input : inputs) {
    std::error_code error;
    if (!fs::is_directory(input, error)) {
      paths.push_back(input);
      continue;
    }
    PS_ASSIGN_OR_RETURN(const std::vector<std::string> images, ImagesIn(input));
    paths.insert(paths.end(), images.begin(), images.end());
  }
  // All of them now, and not one after the other while predictions are made.
  for (const std::string& path : paths) {
    PS_RETURN_IF_ERROR(CheckImageFile(path));
  }
  return paths;
}

}  // namespace ps
