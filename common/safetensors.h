// Named tensors in a file that other tools read (PyTorch, JAX, ...). Written as
// float32; read also from the two 16-bit formats.
//
// The format (https://github.com/huggingface/safetensors, "Format"): eight
// bytes of header length, little-endian; the header, JSON; the tensors' bytes,
// little-endian and row-major. The header maps each name to dtype, shape and
// [begin, end) within the data, and "__metadata__" to a map of strings.
#ifndef COMMON_SAFETENSORS_H_
#define COMMON_SAFETENSORS_H_

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

// A tensor to write; the values are the caller's.
struct SafetensorsView {
  std::string name;  // UTF-8, not "__metadata__", no two alike.
  std::vector<int64_t> shape;
  absl::Span<const float> values;  // As many as the shape says.
};

// A tensor that was read.
struct SafetensorsTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::string dtype;  // In the file: "F32".
  // Of F32, F16 and BF16; empty for a type that is not read.
  std::vector<float> values;
};

struct Safetensors {
  std::vector<SafetensorsTensor> tensors;  // In the order of their data.
  SafetensorsMetadata metadata;
};

// Writes the file atomically, the tensors in the order given and without a
// copy of them. The data starts at a multiple of 8 bytes.
// Errors: kInvalidArgument names the tensor; what AtomicFile reports.
absl::Status WriteSafetensors(const std::string& path,
                              absl::Span<const SafetensorsView> tensors,
                              const SafetensorsMetadata& metadata);

// Believes no length before it is checked: the header must be JSON without
// repeated keys, every size what dtype and shape say, and the tensors must
// cover the data exactly, without gap, overlap or rest. The format has no
// checksum, so a changed value among the data is not noticed. Errors: kDataLoss
// says what is wrong and with which tensor; kUnimplemented for a dtype that the
// format did not have when this was written.
absl::StatusOr<Safetensors> ParseSafetensors(absl::string_view bytes);

// The same from a file, with its path in every error. Errors: also ReadFile's.
absl::StatusOr<Safetensors> ReadSafetensors(const std::string& path);

}  // namespace ps

#endif  // COMMON_SAFETENSORS_H_
