#include "data/folder.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/counted.h"

namespace ps {
namespace {

// Explains from where a relative path that cannot be opened begins.
std::string WhereItBegins(const std::string& path) {
  if (absl::StartsWith(path, "~")) {
    return " (only a shell replaces ~, at the beginning of a word: write the "
           "whole path)";
  }
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  if (absl::StartsWith(path, "/") || error) return "";
  return absl::StrCat(" (a relative path, which begins in ", here.string(),
                      ")");
}

absl::Status ErrnoStatus(int error, const std::string& path) {
  if (error == ENOTDIR) {
    return absl::NotFoundError(
        absl::StrCat("data.directory: ", path, " is not a folder"));
  }
  return absl::ErrnoToStatus(error, absl::StrCat("data.directory: cannot read ",
                                                 path, WhereItBegins(path)));
}

}  // namespace

absl::StatusOr<FolderContents> ListFolder(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()),
                                                   closedir);
  if (folder == nullptr) return ErrnoStatus(errno, path);
  FolderContents contents;
  for (;;) {
    // readdir() distinguishes the end from an error only by errno.
    errno = 0;
    const dirent* entry = readdir(folder.get());
    if (entry == nullptr) {
      if (errno != 0) return ErrnoStatus(errno, path);
      break;
    }
    const std::string name = entry->d_name;
    if (name[0] == '.') continue;
    struct stat info;
    const std::string entry_path = absl::StrCat(path, "/", name);
    if (stat(entry_path.c_str(), &info) != 0) {
      if (errno == ENOENT) continue;  // The entry is a broken link.
      return ErrnoStatus(errno, entry_path);
    }
    if (S_ISREG(info.st_mode)) contents.files.push_back(name);
    if (S_ISDIR(info.st_mode)) contents.folders.push_back(name);
  }
  std::sort(contents.files.begin(), contents.files.end());
  std::sort(contents.folders.begin(), contents.folders.end());
  return contents;
}

std::string Unread(const std::vector<std::string>& paths,
                   absl::string_view rule) {
  if (paths.empty()) return "";
  const auto folders = std::count_if(
      paths.begin(), paths.end(),
      [](const std::string& path) { return absl::EndsWith(path, "/"); });
  const auto files = static_cast<int64_t>(paths.size()) - folders;
  std::vector<std::string> counts;
  if (files > 0) counts.push_back(Counted(files, "file"));
  if (folders > 0) counts.push_back(Counted(folders, "folder"));
  constexpr size_t kNamed = 3;
  const size_t named = std::min(paths.size(), kNamed);
  return absl::StrCat(absl::StrJoin(counts, " and "),
                      paths.size() == 1 ? " is not read: " : " are not read: ",
                      absl::StrJoin(paths.begin(), paths.begin() + named, ", "),
                      paths.size() > named
                          ? absl::StrCat(" and ", paths.size() - named, " more")
                          : "",
                      "; ", rule);
}

}  // namespace ps
