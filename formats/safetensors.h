// Reads and writes named tensors in a format that other tools read (PyTorch,
// JAX, ...). Values are written as float32, and read from float32 and the two
// 16-bit types.
//
// The format (https://github.com/huggingface/safetensors, "Format"): eight
// bytes of header length, little-endian; the header, JSON; the tensors' bytes,
// little-endian and row-major. The header maps each name to dtype, shape and
// [begin, end) within the data, and "__metadata__" to a map of strings.
#ifndef FORMATS_SAFETENSORS_H_
#define FORMATS_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace ps {

using SafetensorsMetadata = std::map<std::string, std::string>;

// A tensor to write; the caller owns the values.
struct SafetensorsView {
  std::string name;  // UTF-8, unique, not "__metadata__".
  std::vector<int64_t> shape;
  absl::Span<const float> values;  // As many as the shape says.
};

// A tensor that was read.
struct SafetensorsTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::string dtype;  // The type in the file: "F32".
  // Filled for F32, F16 and BF16; empty for all other types.
  std::vector<float> values;
};

struct Safetensors {
  std::vector<SafetensorsTensor> tensors;  // In order of their data.
  SafetensorsMetadata metadata;
};

// Writes the file atomically, with the tensors in the order given and without
// copying them. The data starts at a multiple of 8 bytes. Errors:
// kInvalidArgument names the tensor; and the errors of AtomicFile.
absl::Status WriteSafetensors(const std::string& path,
                              absl::Span<const SafetensorsView> tensors,
                              const SafetensorsMetadata& metadata);

// Returns the bytes of such a file. Errors: kInvalidArgument names the tensor.
absl::StatusOr<std::string> SafetensorsBytes(
    absl::Span<const SafetensorsView> tensors,
    const SafetensorsMetadata& metadata);

// Parses a file. Trusts no length before it is checked: the header must be JSON
// without repeated keys, every size must agree with dtype and shape, and the
// tensors must cover the data exactly, without a gap, an overlap or a
// remainder. The format has no checksum, so a changed value in the data goes
// unnoticed. Errors: kDataLoss says what is wrong and with which tensor;
// kUnimplemented for a dtype that the format did not have when this was
// written.
absl::StatusOr<Safetensors> ParseSafetensors(absl::string_view bytes);

// Like ParseSafetensors, for a file; every error names the path. Errors: also
// those of ReadFile.
absl::StatusOr<Safetensors> ReadSafetensors(const std::string& path);

}  // namespace ps

#endif  // FORMATS_SAFETENSORS_H_
