// What a file is that is no ONNX model.
#ifndef MODELS_ONNX_NOT_ONNX_H_
#define MODELS_ONNX_NOT_ONNX_H_

#include <string>

#include "absl/strings/string_view.h"

namespace ps {

// A sentence on these bytes, which cannot be read as an ONNX model: the format
// that they have instead, how many bytes are missing at their end, or that they
// are something else.
std::string WhyNotOnnx(absl::string_view bytes);

}  // namespace ps

#endif  // MODELS_ONNX_NOT_ONNX_H_
