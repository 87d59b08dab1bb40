// A file that is read in parts because it may be too large for memory.
#ifndef COMMON_INPUT_FILE_H_
#define COMMON_INPUT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ps {

// A file that is open for reading. Reading is thread-safe. Errors name the path
// and the system's reason.
class InputFile {
 public:
  // Opens the file. Errors: kNotFound if it does not exist or is not a regular
  // file, kPermissionDenied, otherwise the code that absl gives to errno.
  static absl::StatusOr<InputFile> Open(const std::string& path);

  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  const std::string& path() const { return path_; }

  // The size when Open() was called.
  int64_t size_bytes() const { return size_bytes_; }

  // Fills `bytes` with the `size` bytes from `offset` on. Errors: kDataLoss if
  // the file ends before that; otherwise what the system reports.
  absl::Status Read(int64_t offset, char* bytes, size_t size) const;

 private:
  InputFile(std::string path, int fd, int64_t size_bytes);

  std::string path_;
  int fd_ = -1;  // -1 when moved from.
  int64_t size_bytes_ = 0;
};

}  // namespace ps

#endif  // COMMON_INPUT_FILE_H_
