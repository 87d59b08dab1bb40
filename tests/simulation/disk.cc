#include "tests/simulation/disk.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "storage/files.h"

namespace ps {
namespace sim {
namespace {

struct Content {
  std::string bytes;
  size_t synced = 0;  // Of the bytes.
};
using Entries = std::map<std::string, std::shared_ptr<Content>>;

struct Disk {
  // By path: as processes see them, and as a loss of power would leave them.
  Entries now;
  Entries durable;
  std::set<std::string> folders;
  // Folders that have been renamed, from and to, since the one above them was
  // synced.
  std::vector<std::pair<std::string, std::string>> renamed;
  std::map<std::string, Process*> locks;
  double log_speed = 1e9;  // Bytes a second.
  int64_t fail_after = -1;
  bool failed = false;
  std::function<void(const std::string&)> changed;
  std::function<void(const std::string&, const std::string&)> appended;
};

Disk* disk = nullptr;

bool Within(const std::string& path, const std::string& folder) {
  return path == folder || absl::StartsWith(path, folder + "/");
}

std::string FolderOf(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

// The operation, which may fail.
absl::Status Touch(const char* what, const std::string& path) {
  Operate(Op::kFile);
  if (Tracing()) Trace(absl::StrCat(what, " ", path));
  if (disk->fail_after < 0 || disk->fail_after-- > 0) return absl::OkStatus();
  disk->failed = true;
  Trace("which fails with an I/O error");
  return absl::ErrnoToStatus(EIO, absl::StrCat("cannot ", what, " ", path));
}

void Changed(const std::string& path) {
  if (disk->changed != nullptr) disk->changed(path);
}

// Renames what processes see.
void Move(const std::string& from, const std::string& to) {
  const auto renamed = [&](const std::string& path) {
    return Within(path, from) ? to + path.substr(from.size()) : path;
  };
  Entries now;
  for (const auto& [path, content] : disk->now) now[renamed(path)] = content;
  disk->now = std::move(now);
  std::set<std::string> folders;
  for (const std::string& path : disk->folders) folders.insert(renamed(path));
  disk->folders = std::move(folders);
}

// Makes the entries of a folder survive.
void SyncFolder(const std::string& folder) {
  const auto in_folder = [&](const std::string& path) {
    return Within(path, folder) && path != folder;
  };
  for (auto it = disk->durable.begin(); it != disk->durable.end();) {
    const bool gone = in_folder(it->first) && disk->now.count(it->first) == 0;
    it = gone ? disk->durable.erase(it) : std::next(it);
  }
  for (const auto& [path, content] : disk->now) {
    if (in_folder(path)) disk->durable[path] = content;
  }
  auto& renamed = disk->renamed;
  renamed.erase(
      std::remove_if(renamed.begin(), renamed.end(),
                     [&](const auto& each) { return in_folder(each.second); }),
      renamed.end());
}

class SimOutput final : public OutputFile {
 public:
  SimOutput(std::string path, std::shared_ptr<Content> content)
      : path_(std::move(path)), content_(std::move(content)) {}

  absl::Status Append(absl::Span<const absl::string_view> pieces) override {
    const std::string bytes = absl::StrJoin(pieces, "");
    const absl::Status status = Touch("append to", path_);
    const size_t half = bytes.size() / 2;
    content_->bytes.append(bytes, 0, half);
    PS_RETURN_IF_ERROR(status);
    // A process that is killed here leaves the first half.
    Operate(Op::kFile);
    content_->bytes.append(bytes, half);
    if (disk->appended != nullptr) disk->appended(path_, bytes);
    return absl::OkStatus();
  }

  absl::Status Sync() override {
    PS_RETURN_IF_ERROR(Touch("sync", path_));
    content_->synced = content_->bytes.size();
    return absl::OkStatus();
  }

 private:
  const std::string path_;
  const std::shared_ptr<Content> content_;
};

class SimLock final : public FileLock {
 public:
  explicit SimLock(std::string path) : path_(std::move(path)) {}
  ~SimLock() override { disk->locks.erase(path_); }

 private:
  const std::string path_;
};

class SimFiles final : public Files {
 public:
  absl::StatusOr<std::unique_ptr<OutputFile>> Create(
      const std::string& path) override {
    PS_RETURN_IF_ERROR(Touch("create", path));
    if (disk->folders.count(FolderOf(path)) == 0) {
      return absl::ErrnoToStatus(ENOENT, path);
    }
    auto content = std::make_shared<Content>();
    if (!disk->now.emplace(path, content).second) {
      return absl::ErrnoToStatus(EEXIST, path);
    }
    Changed(path);
    return std::make_unique<SimOutput>(path, std::move(content));
  }

  absl::StatusOr<std::unique_ptr<OutputFile>> Continue(const std::string& path,
                                                       int64_t size) override {
    PS_RETURN_IF_ERROR(Touch("continue", path));
    const auto found = disk->now.find(path);
    if (found == disk->now.end()) return absl::ErrnoToStatus(ENOENT, path);
    Content& content = *found->second;
    content.bytes.resize(static_cast<size_t>(size));
    content.synced = std::min(content.synced, content.bytes.size());
    return std::make_unique<SimOutput>(path, found->second);
  }

  absl::StatusOr<std::string> Read(const std::string& path) override {
    PS_RETURN_IF_ERROR(Touch("read", path));
    const auto found = disk->now.find(path);
    if (found == disk->now.end()) return absl::ErrnoToStatus(ENOENT, path);
    const std::shared_ptr<Content> content = found->second;
    if (absl::StrContains(path, "/log-")) {
      const auto size = static_cast<double>(content->bytes.size());
      Block("the disk", Now() + absl::Seconds(size / disk->log_speed));
    }
    return content->bytes;
  }

  absl::StatusOr<std::vector<std::string>> List(
      const std::string& folder) override {
    PS_RETURN_IF_ERROR(Touch("list", folder));
    if (disk->folders.count(folder) == 0) {
      return absl::ErrnoToStatus(ENOENT, folder);
    }
    std::set<std::string> names;
    const auto add = [&](const std::string& path) {
      if (path == folder || !Within(path, folder)) return;
      const std::string rest = path.substr(folder.size() + 1);
      names.insert(rest.substr(0, rest.find('/')));
    };
    for (const auto& [path, content] : disk->now) add(path);
    for (const std::string& path : disk->folders) add(path);
    return std::vector<std::string>(names.begin(), names.end());
  }

  absl::Status MakeFolder(const std::string& path) override {
    PS_RETURN_IF_ERROR(Touch("make", path));
    for (size_t end = path.find('/', 1); end != std::string::npos;
         end = path.find('/', end + 1)) {
      disk->folders.insert(path.substr(0, end));
    }
    disk->folders.insert(path);
    return absl::OkStatus();
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    PS_RETURN_IF_ERROR(Touch(absl::StrCat("rename to ", to).c_str(), from));
    const bool is_folder = disk->folders.count(from) > 0;
    if (!is_folder && disk->now.count(from) == 0) {
      return absl::ErrnoToStatus(ENOENT, from);
    }
    // The folder's own entries are synced before its name changes.
    if (is_folder) SyncFolder(from);
    Move(from, to);
    if (is_folder) disk->renamed.emplace_back(from, to);
    Changed(to);
    PS_RETURN_IF_ERROR(Touch("sync the folder of", to));
    SyncFolder(FolderOf(to));
    if (FolderOf(from) != FolderOf(to)) SyncFolder(FolderOf(from));
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<FileLock>> Lock(
      const std::string& path) override {
    PS_RETURN_IF_ERROR(Touch("lock", path));
    if (!disk->locks.emplace(path, Current()).second) {
      return absl::UnavailableError(
          absl::StrCat("another process has locked ", path));
    }
    return std::make_unique<SimLock>(path);
  }

  absl::Status Remove(const std::string& path) override {
    // One entry after the other, as the system does it.
    for (;;) {
      PS_RETURN_IF_ERROR(Touch("remove from", path));
      std::vector<std::string> there;
      for (const auto& [each, content] : disk->now) {
        if (Within(each, path)) there.push_back(each);
      }
      if (there.empty()) break;
      const std::string gone = there[Below(there.size())];
      disk->now.erase(gone);
      Changed(gone);
    }
    for (auto it = disk->folders.begin(); it != disk->folders.end();) {
      it = Within(*it, path) ? disk->folders.erase(it) : std::next(it);
    }
    return absl::OkStatus();
  }
};

}  // namespace

std::string DiskOf(int host) { return absl::StrCat("/disk/", host); }

void StartDisk() {
  disk = new Disk;
  OnEnd([](Process* process) {
    for (auto it = disk->locks.begin(); it != disk->locks.end();) {
      it = it->second == process ? disk->locks.erase(it) : std::next(it);
    }
  });
}

void LosePower(int host) {
  const std::string root = DiskOf(host);
  // The journal may have more than what was synced, of each folder.
  std::map<std::string, bool> lost;
  const auto is_lost = [&](const std::string& path) {
    const auto [it, is_new] = lost.emplace(FolderOf(path), false);
    if (is_new) it->second = Chance(0.5);
    return it->second;
  };
  // A folder has its old name or its new one, with all that is in it.
  const auto renamed = disk->renamed;
  for (auto it = renamed.rbegin(); it != renamed.rend(); ++it) {
    const auto& [from, to] = *it;
    if (Within(to, root) && is_lost(to)) Move(to, from);
  }
  for (const auto& [from, to] : renamed) {
    if (!Within(to, root)) continue;
    SyncFolder(from);
    SyncFolder(to);
  }
  disk->renamed.erase(std::remove_if(disk->renamed.begin(), disk->renamed.end(),
                                     [&](const auto& each) {
                                       return Within(each.second, root);
                                     }),
                      disk->renamed.end());
  for (auto it = disk->now.begin(); it != disk->now.end();) {
    const bool gone = Within(it->first, root) &&
                      disk->durable.count(it->first) == 0 && is_lost(it->first);
    it = gone ? disk->now.erase(it) : std::next(it);
  }
  for (const auto& [path, content] : disk->durable) {
    if (!Within(path, root)) continue;
    // Removed, or replaced, and not synced.
    if (is_lost(path)) disk->now[path] = content;
    if (is_lost(path)) disk->folders.insert(FolderOf(path));
  }
  for (auto& [path, content] : disk->now) {
    if (!Within(path, root)) continue;
    const size_t unsynced = content->bytes.size() - content->synced;
    content->bytes.resize(content->synced +
                          (unsynced == 0 ? 0 : Below(unsynced)));
    content->synced = content->bytes.size();
  }
}

void SetLogSpeed(double bytes_per_second) {
  disk->log_speed = bytes_per_second;
}

void FailOnce(int64_t operations) { disk->fail_after = operations; }
bool HasFailed() { return disk->failed; }

bool Exists(const std::string& path) { return disk->now.count(path) > 0; }

std::set<int64_t> WholeSnapshots(const std::string& folder) {
  std::set<int64_t> numbers;
  const std::string prefix = folder + "/snapshot-";
  for (auto it = disk->now.lower_bound(prefix);
       it != disk->now.end() && absl::StartsWith(it->first, prefix); ++it) {
    int64_t number = 0;
    const std::string rest = it->first.substr(prefix.size());
    if (absl::EndsWith(rest, "/manifest") &&
        absl::SimpleAtoi(rest.substr(0, rest.size() - 9), &number)) {
      numbers.insert(number);
    }
  }
  return numbers;
}

void OnChange(std::function<void(const std::string&)> changed) {
  disk->changed = std::move(changed);
}

void OnAppend(
    std::function<void(const std::string&, const std::string&)> appended) {
  disk->appended = std::move(appended);
}

}  // namespace sim

Files* Files::Real() {
  static sim::SimFiles* const files = new sim::SimFiles;
  return files;
}

}  // namespace ps
