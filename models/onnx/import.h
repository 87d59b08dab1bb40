// Imports networks from ONNX files.
#ifndef MODELS_ONNX_IMPORT_H_
#define MODELS_ONNX_IMPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/safetensors.h"
#include "models/onnx/tensor.h"
#include "proto/layers_config.pb.h"

namespace ps {

struct ImportedNetwork {
  LayersConfig layers;
  // The weights and statistics of the layers, with their names.
  std::vector<SafetensorsTensor> tensors;
  // Sentences for the reader about anything that was created, added or omitted.
  std::vector<std::string> notes;
};

// Reads a ModelProto that this library exported, or that PyTorch wrote for a
// network of these layers. The bytes are untrusted, and a network takes at most
// a few times the memory of its files. `read_beside` reads files of weights
// that belong to the model; it may be null. Errors: kDataLoss if the bytes are
// not an ONNX model, with their kind if it is known, or one of its tensors is
// damaged; kUnimplemented, naming the node and its operator, for anything that
// model.layers does not have; kInvalidArgument for layers that do not fit each
// other; those of read_beside.
absl::StatusOr<ImportedNetwork> ImportOnnx(absl::string_view bytes,
                                           const ReadBeside& read_beside = {});

// Reads the file of this path, and the files beside it that hold its weights.
// Errors name the path.
absl::StatusOr<ImportedNetwork> ImportOnnxFile(const std::string& path);

}  // namespace ps

#endif  // MODELS_ONNX_IMPORT_H_
