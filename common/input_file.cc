#include "common/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace ps {

InputFile::InputFile(std::string path, int fd, int64_t size_bytes)
    : path_(std::move(path)), fd_(fd), size_bytes_(size_bytes) {}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      size_bytes_(other.size_bytes_) {}

InputFile::~InputFile() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<InputFile> InputFile::Open(const std::string& path) {
  // Opening a pipe would wait for its writer.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  if (fd < 0 || fstat(fd, &info) != 0) {
    const int error = errno;
    if (fd >= 0) close(fd);
    return absl::ErrnoToStatus(error, absl::StrCat("cannot open ", path));
  }
  if (!S_ISREG(info.st_mode)) {
    close(fd);
    return absl::NotFoundError(absl::StrCat(
        "cannot open ", path, ": it is ",
        S_ISDIR(info.st_mode) ? "a folder, not a file" : "not a regular file"));
  }
  return InputFile(path, fd, static_cast<int64_t>(info.st_size));
}

absl::Status InputFile::Read(int64_t offset, char* bytes, size_t size) const {
  while (size > 0) {
    const ssize_t count = pread(fd_, bytes, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path_));
    }
    if (count == 0) {
      return absl::DataLossError(absl::StrCat(path_, ": the file ends at byte ",
                                              offset, ", before the ", size,
                                              " bytes that should follow"));
    }
    bytes += count;
    offset += count;
    size -= static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

}  // namespace ps
