#include "tests/storage/memory_files.h"

#include <cerrno>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"

namespace ps {

class MemoryFiles::Output final : public OutputFile {
 public:
  Output(MemoryFiles* files, std::string path)
      : files_(files), path_(std::move(path)) {}

  absl::Status Append(absl::Span<const absl::string_view> pieces) override {
    const std::string all = absl::StrJoin(pieces, "");
    const absl::string_view bytes = all;
    std::string& to = files_->contents_[path_].bytes;
    const absl::Status status = files_->Change(path_);
    absl::StrAppend(&to,
                    status.ok() ? bytes : bytes.substr(0, bytes.size() / 2));
    return status;
  }

  absl::Status Sync() override {
    PS_RETURN_IF_ERROR(files_->Change(path_));
    Content& content = files_->contents_[path_];
    content.synced = content.bytes.size();
    return absl::OkStatus();
  }

 private:
  MemoryFiles* const files_;
  const std::string path_;
};

absl::Status MemoryFiles::Change(const std::string& path) {
  if (changes_left_ < 0) return absl::OkStatus();
  if (changes_left_ == 0) {
    return absl::ErrnoToStatus(ENOSPC, absl::StrCat("cannot change ", path));
  }
  --changes_left_;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<OutputFile>> MemoryFiles::Create(
    const std::string& path) {
  PS_RETURN_IF_ERROR(Change(path));
  if (!contents_.emplace(path, Content()).second) {
    return absl::AlreadyExistsError(path);
  }
  return std::make_unique<Output>(this, path);
}

absl::StatusOr<std::unique_ptr<OutputFile>> MemoryFiles::Continue(
    const std::string& path, int64_t size) {
  PS_RETURN_IF_ERROR(Change(path));
  const auto found = contents_.find(path);
  if (found == contents_.end()) return absl::NotFoundError(path);
  found->second.bytes.resize(static_cast<size_t>(size));
  return std::make_unique<Output>(this, path);
}

absl::StatusOr<std::string> MemoryFiles::Read(const std::string& path) {
  if (path == unreadable_) return absl::ErrnoToStatus(EIO, path);
  const auto found = contents_.find(path);
  if (found == contents_.end()) return absl::NotFoundError(path);
  return found->second.bytes;
}

absl::StatusOr<std::vector<std::string>> MemoryFiles::List(
    const std::string& folder) {
  std::set<std::string> names;
  for (const auto& [path, content] : contents_) {
    if (!absl::StartsWith(path, folder + "/")) continue;
    const std::string rest = path.substr(folder.size() + 1);
    names.insert(rest.substr(0, rest.find('/')));
  }
  if (names.empty()) return absl::NotFoundError(folder);
  return std::vector<std::string>(names.begin(), names.end());
}

absl::Status MemoryFiles::MakeFolder(const std::string& path) {
  return Change(path);
}

absl::Status MemoryFiles::Rename(const std::string& from,
                                 const std::string& to) {
  std::map<std::string, Content> renamed;
  bool found = false;
  for (const auto& [path, content] : contents_) {
    const bool within = path == from || absl::StartsWith(path, from + "/");
    renamed[within ? to + path.substr(from.size()) : path] = content;
    found = found || within;
  }
  if (!found) return absl::NotFoundError(from);
  PS_RETURN_IF_ERROR(Change(from));
  contents_ = std::move(renamed);
  return absl::OkStatus();
}

class MemoryFiles::Held final : public FileLock {
 public:
  Held(std::string path, std::set<std::string>* locked)
      : path_(std::move(path)), locked_(locked) {}
  ~Held() override { locked_->erase(path_); }

 private:
  const std::string path_;
  std::set<std::string>* const locked_;
};

absl::StatusOr<std::unique_ptr<FileLock>> MemoryFiles::Lock(
    const std::string& path) {
  if (!locked_.insert(path).second) return absl::UnavailableError(path);
  return std::make_unique<Held>(path, &locked_);
}

absl::Status MemoryFiles::Remove(const std::string& path) {
  for (auto it = contents_.begin(); it != contents_.end();) {
    const bool within =
        it->first == path || absl::StartsWith(it->first, path + "/");
    // One file after the other.
    if (within) PS_RETURN_IF_ERROR(Change(it->first));
    it = within ? contents_.erase(it) : std::next(it);
  }
  return absl::OkStatus();
}

void MemoryFiles::LosePower() {
  for (auto& [path, content] : contents_) content.bytes.resize(content.synced);
}

}  // namespace ps
