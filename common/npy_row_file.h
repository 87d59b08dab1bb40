// A .npy file of equal rows that grows, and can be read at any time.
#ifndef COMMON_NPY_ROW_FILE_H_
#define COMMON_NPY_ROW_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace ps {

// Float32, [rows, row_elements]. The header counts a row only once it is
// written: whatever happens, the file is an array of the rows before. Not
// thread-safe.
class NpyRowFile {
 public:
  // An array of no rows, in place of what was there; row_elements is at least
  // 1. Errors name the path and the system's reason.
  static absl::StatusOr<NpyRowFile> Create(const std::string& path,
                                           int64_t row_elements);

  // Closes.
  ~NpyRowFile();
  NpyRowFile(NpyRowFile&& other) noexcept;
  NpyRowFile& operator=(NpyRowFile&&) = delete;

  const std::string& path() const { return path_; }
  int64_t rows() const { return rows_; }

  // `row` has row_elements elements. After an error the file has the rows from
  // before.
  absl::Status Append(absl::Span<const float> row);

  // Some file systems report only now that a write has failed. The last call.
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

#endif  // COMMON_NPY_ROW_FILE_H_
