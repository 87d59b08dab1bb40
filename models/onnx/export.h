// Exports networks as ONNX files.
#ifndef MODELS_ONNX_EXPORT_H_
#define MODELS_ONNX_EXPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/batch.h"
#include "formats/safetensors.h"
#include "proto/layers_config.pb.h"

namespace ps {

// Returns a ModelProto of opset 13 that computes the layers in inference, up to
// the logits. Input: "input", [batch, channels, height, width]; for text, int64
// [steps, batch]; for speech [steps, batch, features]. Output: "output". All
// tensors keep their names, shapes and layouts, except those of LSTM and GRU
// layers, where ONNX has others. `tensors` holds every parameter and statistic
// of the layers, as a run writes them. Errors: kInvalidArgument for layers that
// do not fit the example, or tensors that are missing or of another size;
// kUnimplemented for a layer that ONNX has no operator for.
absl::StatusOr<std::string> ExportOnnx(
    const LayersConfig& layers, const ExampleShape& example,
    const std::vector<SafetensorsTensor>& tensors);

}  // namespace ps

#endif  // MODELS_ONNX_EXPORT_H_
