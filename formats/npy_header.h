// Parses and writes the header of NumPy's .npy files, versions 1.0 to 3.0.
//
// The format (NumPy Enhancement Proposal 1 and the documentation of
// numpy.lib.format): the bytes 93 "NUMPY", the version in two bytes, the length
// of the text that follows in two (version 1) or four (2 and 3) bytes,
// little-endian; then a Python dictionary as text, with the keys 'descr',
// 'fortran_order' and 'shape', padded with spaces and ended by a line feed.
#ifndef FORMATS_NPY_HEADER_H_
#define FORMATS_NPY_HEADER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ps {

struct NpyHeader {
  std::string descr;  // The element type: "<f4" is little-endian float32.
  bool fortran_order = false;
  std::vector<int64_t> shape;  // Every dimension is at least 0.
};

// An upper bound on the bytes before the text, in any version.
constexpr int64_t kMaxNpyPreambleBytes = 12;

// The position of the text in the file; the data follow it.
struct NpyTextRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// Returns where the text is. `bytes`: the first kMaxNpyPreambleBytes of a file,
// or the whole file if it is shorter. Errors: kDataLoss for a wrong magic
// string, an unknown version, or a length that no array of numbers needs.
absl::StatusOr<NpyTextRange> ParseNpyPreamble(absl::string_view bytes);

// Parses the text. Errors: kDataLoss names the key and what is wrong with it;
// kUnimplemented for records, whose 'descr' is a list.
absl::StatusOr<NpyHeader> ParseNpyText(absl::string_view text);

// The length of every header that is written, so that it can be overwritten
// once the shape is known. It is what NumPy itself writes for such arrays.
constexpr int64_t kNpyHeaderBytes = 128;

// Returns preamble and text, version 1.0. The shape has one or two dimensions.
std::string NpyHeaderBytes(const NpyHeader& header);

}  // namespace ps

#endif  // FORMATS_NPY_HEADER_H_
