#include "data/idx.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/file_kind.h"
#include "common/status_macros.h"
#include "data/gunzip.h"

namespace ps {
namespace {

constexpr size_t kMagicBytes = 4;
constexpr uint8_t kUnsignedByte = 8;
// MNIST's images are 47 MB. A small file that unpacks to more than this is not
// a data set but an accident or an attack.
constexpr int64_t kMaxUnpackedBytes = int64_t{1} << 31;

uint8_t ByteAt(absl::string_view bytes, size_t i) {
  return static_cast<uint8_t>(bytes[i]);
}

absl::StatusOr<IdxArray> ParsePlainIdx(absl::string_view bytes,
                                       int num_dimensions) {
  const size_t header_bytes = kMagicBytes + 4 * num_dimensions;
  if (bytes.size() < kMagicBytes || ByteAt(bytes, 0) != 0 ||
      ByteAt(bytes, 1) != 0 || ByteAt(bytes, 2) != kUnsignedByte ||
      ByteAt(bytes, 3) != num_dimensions) {
    return absl::DataLossError(
        absl::StrCat("not an IDX file of unsigned bytes with ", num_dimensions,
                     num_dimensions == 1 ? " dimension" : " dimensions",
                     AsWhatItIs(bytes.substr(0, kFileKindBytes))));
  }
  if (bytes.size() < header_bytes) {
    return absl::DataLossError(
        absl::StrCat("ends within its header, after ", bytes.size(), " bytes"));
  }
  IdxArray array;
  // Each dimension is at most 2^32; a product that overflows is too large for
  // any file.
  uint64_t size = 1;
  bool overflow = false;
  for (size_t at = kMagicBytes; at < header_bytes; at += 4) {
    const int64_t dimension =
        int64_t{ByteAt(bytes, at)} << 24 | ByteAt(bytes, at + 1) << 16 |
        ByteAt(bytes, at + 2) << 8 | ByteAt(bytes, at + 3);
    if (dimension == 0) {
      return absl::DataLossError(absl::StrCat(
          "dimension ", array.dimensions.size(), " of its header is 0"));
    }
    array.dimensions.push_back(dimension);
    overflow |= __builtin_mul_overflow(size, dimension, &size);
  }
  bytes.remove_prefix(header_bytes);
  if (overflow || size != bytes.size()) {
    return absl::DataLossError(
        absl::StrCat("its header promises ",
                     overflow ? "more than 2^64" : absl::StrCat(size).c_str(),
                     " values, but ", bytes.size(), " follow"));
  }
  array.values.assign(bytes.begin(), bytes.end());
  return array;
}

}  // namespace

absl::StatusOr<IdxArray> ParseIdx(absl::string_view bytes, int num_dimensions) {
  if (!LooksLikeGzip(bytes)) return ParsePlainIdx(bytes, num_dimensions);
  PS_ASSIGN_OR_RETURN(const std::string unpacked,
                      Gunzip(bytes, kMaxUnpackedBytes));
  return ParsePlainIdx(unpacked, num_dimensions);
}

absl::StatusOr<IdxArray> ReadIdx(const std::string& path, int num_dimensions) {
  PS_ASSIGN_OR_RETURN(const std::string bytes, ReadRegularFile(path));
  auto array = ParseIdx(bytes, num_dimensions);
  if (!array.ok()) return Annotate(array.status(), path);
  return array;
}

}  // namespace ps
