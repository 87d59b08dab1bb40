// A .npy file that grows row by row and can be read at any time.
#ifndef FORMATS_NPY_ROW_FILE_H_
#define FORMATS_NPY_ROW_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace ps {

// Writes a float32 array [rows, row_elements]. The header counts a row only
// after it has been written, so that the file is always a valid array of the
// earlier rows. Not thread-safe.
class NpyRowFile {
 public:
  // Creates an array without rows and replaces any existing file; row_elements
  // is at least 1. Errors name the path and the system's reason.
  static absl::StatusOr<NpyRowFile> Create(const std::string& path,
                                           int64_t row_elements);

  ~NpyRowFile();
  NpyRowFile(NpyRowFile&& other) noexcept;
  NpyRowFile& operator=(NpyRowFile&&) = delete;

  const std::string& path() const { return path_; }
  int64_t rows() const { return rows_; }

  // Appends a row of row_elements elements. After an error the file still holds
  // the earlier rows.
  absl::Status Append(absl::Span<const float> row);

  // Must be the last call. Some file systems report a failed write only here.
  absl::Status Close();

 private:
  NpyRowFile(std::string path, int fd, int64_t row_elements);

  absl::Status WriteAt(int64_t offset, const char* bytes, size_t size);
  absl::Status WriteHeader(int64_t rows);

  std::string path_;
  int fd_ = -1;  // -1 when closed or moved from.
  const int64_t row_elements_;
  int64_t rows_ = 0;
};

}  // namespace ps

#endif  // FORMATS_NPY_ROW_FILE_H_
