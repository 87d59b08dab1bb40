// Recognises files that are no ONNX models.
#ifndef MODELS_ONNX_NOT_ONNX_H_
#define MODELS_ONNX_NOT_ONNX_H_

#include <string>

#include "absl/strings/string_view.h"

namespace ps {

// Returns a sentence on bytes that cannot be read as an ONNX model: their
// actual format, how many bytes are missing at their end, or that they are
// something else.
std::string WhyNotOnnx(absl::string_view bytes);

}  // namespace ps

#endif  // MODELS_ONNX_NOT_ONNX_H_
