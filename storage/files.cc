#include "storage/files.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/status_macros.h"

namespace ps {
namespace {

namespace fs = std::filesystem;

absl::Status Failure(absl::string_view what, const std::string& path,
                     int error) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot ", what, " ", path));
}

class RealOutputFile final : public OutputFile {
 public:
  RealOutputFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  ~RealOutputFile() override { close(fd_); }
  RealOutputFile(const RealOutputFile&) = delete;
  RealOutputFile& operator=(const RealOutputFile&) = delete;

  absl::Status Append(absl::Span<const absl::string_view> pieces) override {
    std::vector<iovec> left;
    for (const absl::string_view piece : pieces) {
      if (!piece.empty()) {
        left.push_back({const_cast<char*>(piece.data()), piece.size()});
      }
    }
    for (size_t first = 0; first < left.size();) {
      const size_t count = std::min<size_t>(left.size() - first, IOV_MAX);
      const ssize_t result = writev(fd_, &left[first], static_cast<int>(count));
      if (result < 0 && errno == EINTR) continue;
      if (result < 0) return Failure("write", path_, errno);
      auto written = static_cast<size_t>(result);
      while (first < left.size() && written >= left[first].iov_len) {
        written -= left[first++].iov_len;
      }
      if (written == 0) continue;
      left[first].iov_base = static_cast<char*>(left[first].iov_base) + written;
      left[first].iov_len -= written;
    }
    return absl::OkStatus();
  }

  absl::Status Sync() override {
    return fdatasync(fd_) == 0 ? absl::OkStatus()
                               : Failure("sync", path_, errno);
  }

 private:
  const std::string path_;
  const int fd_;
};

// Makes new and renamed files of a folder survive a loss of power.
absl::Status SyncFolder(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return Failure("open the folder", path, errno);
  const int result = fsync(fd);
  const int error = errno;
  close(fd);
  // Some network file systems cannot sync a folder, and need not.
  if (result != 0 && error != EINVAL) {
    return Failure("sync the folder", path, error);
  }
  return absl::OkStatus();
}

class RealFileLock final : public FileLock {
 public:
  explicit RealFileLock(int fd) : fd_(fd) {}
  ~RealFileLock() override { close(fd_); }
  RealFileLock(const RealFileLock&) = delete;
  RealFileLock& operator=(const RealFileLock&) = delete;

 private:
  const int fd_;
};

class RealFiles final : public Files {
 public:
  absl::StatusOr<std::unique_ptr<OutputFile>> Create(
      const std::string& path) override {
    const int fd =
        open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) return Failure("create", path, errno);
    return std::make_unique<RealOutputFile>(path, fd);
  }

  absl::StatusOr<std::unique_ptr<OutputFile>> Continue(const std::string& path,
                                                       int64_t size) override {
    const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0) return Failure("open", path, errno);
    auto file = std::make_unique<RealOutputFile>(path, fd);
    if (ftruncate(fd, size) != 0) return Failure("shorten", path, errno);
    return file;
  }

  absl::StatusOr<std::string> Read(const std::string& path) override {
    return ReadFile(path);
  }

  absl::StatusOr<std::vector<std::string>> List(
      const std::string& folder) override {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator each(folder, error), end; !error && each != end;
         each.increment(error)) {
      names.push_back(each->path().filename().string());
    }
    if (error) return Failure("read the folder", folder, error.value());
    std::sort(names.begin(), names.end());
    return names;
  }

  absl::Status MakeFolder(const std::string& path) override {
    std::error_code error;
    std::vector<fs::path> made;
    for (fs::path each = path; !each.empty() && !fs::exists(each, error);
         each = each.parent_path()) {
      made.push_back(each);
    }
    fs::create_directories(path, error);
    if (error) return Failure("make the folder", path, error.value());
    for (const fs::path& each : made) {
      const std::string above = each.parent_path().string();
      PS_RETURN_IF_ERROR(SyncFolder(above.empty() ? "." : above));
    }
    return absl::OkStatus();
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    std::error_code error;
    if (fs::is_directory(from, error)) PS_RETURN_IF_ERROR(SyncFolder(from));
    if (rename(from.c_str(), to.c_str()) != 0) {
      return Failure("rename to " + to, from, errno);
    }
    const std::string folder = fs::path(to).parent_path().string();
    const std::string before = fs::path(from).parent_path().string();
    if (before != folder) PS_RETURN_IF_ERROR(SyncFolder(before));
    return SyncFolder(folder);
  }

  absl::StatusOr<std::unique_ptr<FileLock>> Lock(
      const std::string& path) override {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) return Failure("open", path, errno);
    auto lock = std::make_unique<RealFileLock>(fd);
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      if (error == EINTR) continue;
      if (error == EWOULDBLOCK) {
        return absl::UnavailableError(
            absl::StrCat("another process has locked ", path));
      }
      const absl::Status failure = Failure("lock", path, error);
      const bool no_locks = error == ENOLCK || error == ENOSYS ||
                            error == EOPNOTSUPP || error == EINVAL;
      return no_locks ? absl::UnimplementedError(failure.message()) : failure;
    }
    return lock;
  }

  absl::Status Remove(const std::string& path) override {
    std::error_code error;
    fs::remove_all(path, error);
    if (error) return Failure("remove", path, error.value());
    return absl::OkStatus();
  }
};

}  // namespace

Files* Files::Real() {
  static RealFiles* const files = new RealFiles;
  return files;
}

}  // namespace ps
