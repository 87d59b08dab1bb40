#include "tools/process/temporary_directory.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ps {

namespace fs = std::filesystem;

absl::StatusOr<std::unique_ptr<TemporaryDirectory>>
TemporaryDirectory::Create() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  if (error) {
    const char* const named = std::getenv("TMPDIR");
    return absl::ErrnoToStatus(
        error.value(),
        absl::StrCat("no folder for temporary files at ",
                     named == nullptr ? "/tmp" : named,
                     named == nullptr ? "; TMPDIR can name another"
                                      : ", which TMPDIR names"));
  }
  std::string path = (parent / "gradsieve.XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot create ", path));
  }
  return std::unique_ptr<TemporaryDirectory>(
      new TemporaryDirectory(std::move(path)));
}

TemporaryDirectory::TemporaryDirectory(std::string path)
    : path_(std::move(path)) {}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace ps
