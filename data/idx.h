// Parses IDX files: arrays of bytes, the format in which MNIST and
// Fashion-MNIST are published.
//
// The format (LeCun, Cortes, Burges, "The MNIST database", yann.lecun.com):
// two zero bytes, the type of the values (8: unsigned byte), the number of
// dimensions, each dimension in four bytes, big-endian, then the values.
#ifndef DATA_IDX_H_
#define DATA_IDX_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

struct IdxArray {
  std::vector<int64_t> dimensions;  // Each at least 1.
  std::vector<uint8_t> values;  // Product of `dimensions` values; row-major.
};

// Parses an array. `bytes` may be plain or packed with gzip. A header alone
// never causes an allocation. Errors: kDataLoss if `bytes` is not exactly an
// array of unsigned bytes with num_dimensions dimensions, or if a dimension is
// 0.
absl::StatusOr<IdxArray> ParseIdx(absl::string_view bytes, int num_dimensions);

// Like ParseIdx, for a file, with its path in every error. Errors: also those
// of ReadFile.
absl::StatusOr<IdxArray> ReadIdx(const std::string& path, int num_dimensions);

}  // namespace ps

#endif  // DATA_IDX_H_
