#include "formats/npy_row_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "formats/npy_header.h"
#include "glog/logging.h"

namespace ps {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "elements are copied to the file as they are");

}  // namespace

NpyRowFile::NpyRowFile(std::string path, int fd, int64_t row_elements)
    : path_(std::move(path)), fd_(fd), row_elements_(row_elements) {}

NpyRowFile::NpyRowFile(NpyRowFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      row_elements_(other.row_elements_),
      rows_(other.rows_) {}

NpyRowFile::~NpyRowFile() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<NpyRowFile> NpyRowFile::Create(const std::string& path,
                                              int64_t row_elements) {
  CHECK_GE(row_elements, 1);
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot create ", path));
  }
  NpyRowFile file(path, fd, row_elements);
  PS_RETURN_IF_ERROR(file.WriteHeader(0));
  return file;
}

absl::Status NpyRowFile::WriteAt(int64_t offset, const char* bytes,
                                 size_t size) {
  while (size > 0) {
    const ssize_t count = pwrite(fd_, bytes, size, static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return absl::ErrnoToStatus(
          errno, absl::StrCat("cannot write row ", rows_, " of ", path_));
    }
    bytes += count;
    offset += count;
    size -= static_cast<size_t>(count);
  }
  return absl::OkStatus();
}

absl::Status NpyRowFile::WriteHeader(int64_t rows) {
  NpyHeader header;
  header.descr = "<f4";
  header.shape = {rows, row_elements_};
  const std::string bytes = NpyHeaderBytes(header);
  return WriteAt(0, bytes.data(), bytes.size());
}

absl::Status NpyRowFile::Append(absl::Span<const float> row) {
  CHECK_EQ(static_cast<int64_t>(row.size()), row_elements_);
  const int64_t row_bytes = row_elements_ * static_cast<int64_t>(sizeof(float));
  PS_RETURN_IF_ERROR(WriteAt(kNpyHeaderBytes + rows_ * row_bytes,
                             reinterpret_cast<const char*>(row.data()),
                             static_cast<size_t>(row_bytes)));
  PS_RETURN_IF_ERROR(WriteHeader(rows_ + 1));
  ++rows_;
  return absl::OkStatus();
}

absl::Status NpyRowFile::Close() {
  if (close(std::exchange(fd_, -1)) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot close ", path_));
  }
  return absl::OkStatus();
}

}  // namespace ps
