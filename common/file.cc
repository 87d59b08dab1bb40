#include "common/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/entropy.h"
#include "common/machine_limits.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"

namespace ps {
namespace {

absl::Status FileError(absl::string_view what, const std::string& path,
                       int error) {
  return absl::ErrnoToStatus(error, absl::StrCat("cannot ", what, " ", path));
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Makes a rename in `folder` survive a loss of power.
absl::Status SyncFolder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return FileError("open the folder", folder, errno);
  const int result = fsync(fd);
  const int error = errno;
  close(fd);
  // Some network file systems cannot sync a folder, and need not.
  if (result != 0 && error != EINVAL) {
    return FileError("sync the folder", folder, error);
  }
  return absl::OkStatus();
}

// This limits pipes and devices, which may never end.
constexpr int64_t kMaxStreamBytes = int64_t{1} << 30;

// Reads all of `path`, which is open as `fd`.
absl::StatusOr<std::string> ReadAll(int fd, const std::string& path,
                                    int64_t max_bytes) {
  struct stat info;
  if (fstat(fd, &info) != 0) return FileError("read", path, errno);
  const auto too_long = [&] {
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot read ", path, ": it has more than ", max_bytes, " bytes"));
  };
  if (info.st_size > max_bytes) return too_long();
  // The size is a hint only: pipes and /proc have none, and a file may grow.
  constexpr size_t kChunkBytes = size_t{1} << 20;
  std::string bytes;
  if (info.st_size > 0) bytes.reserve(static_cast<size_t>(info.st_size) + 1);
  size_t used = 0;
  for (;;) {
    if (static_cast<int64_t>(used) > max_bytes) return too_long();
    if (used == bytes.size()) {
      bytes.resize(used + (bytes.capacity() > used ? bytes.capacity() - used
                                                   : kChunkBytes));
    }
    const ssize_t count = read(fd, &bytes[used], bytes.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError("read", path, errno);
    if (count == 0) break;
    used += static_cast<size_t>(count);
  }
  bytes.resize(used);
  return bytes;
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return FileError("open", path, errno);
  struct stat info;
  if (fstat(fd.get(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return absl::NotFoundError(
        absl::StrCat("cannot open ", path, ": it is a folder, not a file"));
  }
  return ReadAll(
      fd.get(), path,
      S_ISREG(info.st_mode) ? MachineMemoryBytes() : kMaxStreamBytes);
}

absl::StatusOr<std::string> ReadRegularFile(const std::string& path) {
  // Opening a pipe would wait for its writer.
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return FileError("open", path, errno);
  struct stat info;
  if (fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return absl::NotFoundError(
        absl::StrCat("cannot open ", path, ": it is not a regular file"));
  }
  return ReadAll(fd.get(), path, MachineMemoryBytes());
}

AtomicFile::AtomicFile(std::string path, std::string temporary_path, int fd)
    : path_(std::move(path)),
      temporary_path_(std::move(temporary_path)),
      fd_(fd) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_path_(std::move(other.temporary_path_)),
      fd_(std::exchange(other.fd_, -1)) {}

AtomicFile::~AtomicFile() { Abandon(); }

absl::StatusOr<AtomicFile> AtomicFile::Create(const std::string& link,
                                              unsigned mode) {
  struct stat found;
  std::string path = link;
  if (lstat(link.c_str(), &found) == 0 && S_ISLNK(found.st_mode)) {
    // The link is kept and its target replaced.
    char* const target = realpath(link.c_str(), nullptr);
    if (target != nullptr) path = target;
    free(target);
  }
  if (stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode) &&
      !S_ISDIR(found.st_mode)) {
    // A device or a pipe must not be replaced.
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return FileError("write", path, errno);
    return AtomicFile(path, "", fd);
  }
  // mkostemp would let only the owner read the file; a result should be
  // readable by everyone whom the umask allows.
  for (;;) {
    std::string temporary = absl::StrCat(
        path, ".tmp.",
        absl::Hex(static_cast<uint32_t>(Entropy()), absl::kZeroPad8));
    const int fd =
        open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd >= 0) return AtomicFile(path, std::move(temporary), fd);
    if (errno != EEXIST) return FileError("create", path, errno);
  }
}

absl::Status AtomicFile::Append(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError("write", path_, errno);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Overwrite(int64_t offset, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count =
        pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError("write", path_, errno);
    offset += count;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  absl::Status status;
  if (temporary_path_.empty()) {
    if (close(std::exchange(fd_, -1)) != 0) {
      return FileError("write", path_, errno);
    }
    return status;
  }
  if (fsync(fd_) != 0) {
    status = FileError("sync", path_, errno);
  } else if (rename(temporary_path_.c_str(), path_.c_str()) != 0) {
    status = FileError("rename the finished file to", path_, errno);
  }
  if (!status.ok()) {
    Abandon();
    return status;
  }
  close(std::exchange(fd_, -1));
  return SyncFolder(FolderOf(path_));
}

void AtomicFile::Abandon() {
  if (fd_ < 0) return;
  close(std::exchange(fd_, -1));
  if (!temporary_path_.empty()) unlink(temporary_path_.c_str());
}

absl::Status WriteFileAtomically(const std::string& path,
                                 absl::string_view bytes) {
  PS_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  PS_RETURN_IF_ERROR(file.Append(bytes));
  return file.Commit();
}

}  // namespace ps
