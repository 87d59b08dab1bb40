// Reads and writes arrays in NumPy's .npy files, as numpy.save() writes and
// numpy.load() reads. The arrays have one or two dimensions and are row-major
// ("C order") and little-endian; T is float (dtype '<f4') or int64_t ('<i8').
#ifndef FORMATS_NPY_H_
#define FORMATS_NPY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/file.h"
#include "common/input_file.h"

namespace ps {

// An array that is read in parts. Thread-safe.
template <typename T>
class NpyReader {
 public:
  // Reads and checks the header; trusts no length before it is checked. Bytes
  // after the array are ignored, as NumPy does. Errors name the file, what was
  // found and what is required: kDataLoss for a damaged or truncated file;
  // kInvalidArgument for another type, order or number of dimensions, with a
  // line of Python that converts the file; and the errors of InputFile.
  static absl::StatusOr<NpyReader> Open(const std::string& path);

  const std::string& path() const { return file_.path(); }

  // [n] or [rows, n].
  const std::vector<int64_t>& shape() const { return shape_; }

  // The number of rows; 1 for an array of one dimension.
  int64_t rows() const { return shape_.size() == 1 ? 1 : shape_[0]; }
  int64_t row_elements() const { return shape_.back(); }
  int64_t num_elements() const { return rows() * row_elements(); }

  // Fills `elements` with the array's elements from number `first` on, row by
  // row; they must lie within the array. Errors: kDataLoss if the file has been
  // truncated since.
  absl::Status Read(int64_t first, absl::Span<T> elements) const;

 private:
  NpyReader(InputFile file, std::vector<int64_t> shape, int64_t data_offset);

  InputFile file_;
  std::vector<int64_t> shape_;
  int64_t data_offset_ = 0;
};

// Writes an array in parts, whose length is known only at the end. The file
// appears complete or not at all (common/file.h). Not thread-safe.
template <typename T>
class NpyWriter {
 public:
  // Creates the temporary file. Errors: those of AtomicFile.
  static absl::StatusOr<NpyWriter> Create(const std::string& path);

  absl::Status Append(absl::Span<const T> elements);

  // One of these must be the last call. Commit gives the array the shape
  // [number of elements]; CommitRows gives it [rows, row_elements], where
  // row_elements is at least 1 and the last row must be complete.
  absl::Status Commit();
  absl::Status CommitRows(int64_t row_elements);

 private:
  explicit NpyWriter(AtomicFile file);

  absl::Status CommitShape(const std::vector<int64_t>& shape);

  AtomicFile file_;
  int64_t num_elements_ = 0;
};

// A whole array in memory.
template <typename T>
struct NpyArray {
  std::vector<int64_t> shape;  // [n] or [rows, n].
  std::vector<T> elements;
};

// Reads a whole array with NpyReader.
template <typename T>
absl::StatusOr<NpyArray<T>> ReadNpy(const std::string& path);

// Writes an array of one dimension with NpyWriter.
template <typename T>
absl::Status WriteNpy(const std::string& path, absl::Span<const T> elements);

extern template class NpyReader<float>;
extern template class NpyReader<int64_t>;
extern template class NpyWriter<float>;
extern template class NpyWriter<int64_t>;

}  // namespace ps

#endif  // FORMATS_NPY_H_
