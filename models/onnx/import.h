// Networks from ONNX files.
#ifndef MODELS_ONNX_IMPORT_H_
#define MODELS_ONNX_IMPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/safetensors.h"
#include "proto/layers_config.pb.h"

namespace ps {

struct ImportedNetwork {
  LayersConfig layers;
  // The weights and statistics of the layers, with their names.
  std::vector<SafetensorsTensor> tensors;
};

// Reads a ModelProto that this library exported, or that PyTorch wrote for a
// network of these layers. The bytes may be anything: nothing is trusted, and a
// network takes at most a few times the memory of its file.
// Errors: kDataLoss if the bytes are not an ONNX model, or one of its tensors
// is damaged; kUnimplemented, naming the node and its operator, for what
// model.layers does not have; kInvalidArgument for layers that do not fit each
// other.
absl::StatusOr<ImportedNetwork> ImportOnnx(absl::string_view bytes);

}  // namespace ps

#endif  // MODELS_ONNX_IMPORT_H_
