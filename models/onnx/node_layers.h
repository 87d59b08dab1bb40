// Layers from single nodes of an ONNX graph.
#ifndef MODELS_ONNX_NODE_LAYERS_H_
#define MODELS_ONNX_NODE_LAYERS_H_

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/safetensors.h"
#include "models/onnx/graph_reader.h"
#include "proto/layers_config.pb.h"
#include "proto/onnx.pb.h"

namespace ps {

struct ImportedLayer {
  LayerConfig config;
  // With the ends of their names only: "weight".
  std::vector<SafetensorsTensor> tensors;
  // Of a residual block, in place of the lists in `config`.
  std::vector<ImportedLayer> main;
  std::vector<ImportedLayer> shortcut;
};

// The module of a node that PyTorch named after it: "rnn" for "/rnn/LSTM_1",
// "blocks.0.conv1" for "/blocks/blocks.0/conv1/Conv". Other names stay.
std::string ModuleName(const std::string& node);

// What goes from one node to the next.
struct ImportedValue {
  std::string name;
  int64_t channels = 0;  // 0: not known.
};

// Reads nodes that compute one value from one other.
class NodeLayers {
 public:
  // `graph` must outlive this object.
  explicit NodeLayers(const GraphReader* graph) : graph_(*graph) {}

  // Adds what the node does with *value to the layers, and moves *value to its
  // output. Takes nodes after it, too, where several make one layer. Errors:
  // kUnimplemented for what layers cannot do.
  absl::Status Read(const onnx::NodeProto& node, ImportedValue* value,
                    std::vector<ImportedLayer>* layers);

  // The only node that reads a value; null if there are others or none. Nodes
  // that ask for its shape do not count.
  const onnx::NodeProto* OnlyReader(const std::string& value) const;

 private:
  using Layers = std::vector<ImportedLayer>;

  // A constant input of the node. Layers may share it, but a file must not
  // become much larger in this way.
  absl::StatusOr<const OnnxTensor*> Weight(const onnx::NodeProto& node,
                                           int input, size_t dimensions);
  // The front part of a weight's name, or the node's name; empty if neither
  // can be a layer's, or another layer has it.
  std::string LayerName(const onnx::NodeProto& node, int weight);
  // Goes on after a following node with one of these operators, if there is
  // one.
  bool Skip(std::initializer_list<const char*> operators, ImportedValue* value);

  absl::Status ReadConvolution(const onnx::NodeProto& node,
                               ImportedValue* value, Layers* layers);
  absl::Status ReadGemm(const onnx::NodeProto& node, ImportedValue* value,
                        Layers* layers);
  absl::Status ReadMatMul(const onnx::NodeProto& node, ImportedValue* value,
                          Layers* layers);
  absl::Status ReadBatchNorm(const onnx::NodeProto& node, Layers* layers);
  absl::Status ReadPooling(const onnx::NodeProto& node, int32_t more_padding,
                           Layers* layers);
  absl::Status ReadPaddedPooling(const onnx::NodeProto& node,
                                 ImportedValue* value, Layers* layers);
  // The pads of a Pad with zeros; empty if they are not constant.
  std::vector<int64_t> PadsOf(const onnx::NodeProto& node) const;
  absl::Status ReadMean(const onnx::NodeProto& node, Layers* layers);
  absl::Status ReadReshape(const onnx::NodeProto& node, Layers* layers);
  absl::Status ReadDropout(const onnx::NodeProto& node, Layers* layers);
  absl::Status ReadSubsampling(const onnx::NodeProto& node,
                               ImportedValue* value, Layers* layers);
  absl::Status ReadEmbedding(const onnx::NodeProto& node, ImportedValue* value,
                             Layers* layers);
  absl::Status ReadRecurrent(const onnx::NodeProto& node, ImportedValue* value,
                             Layers* layers);
  bool IsZero(const std::string& value) const;

  const GraphReader& graph_;
  int64_t num_floats_ = 0;  // Of all weights so far.
  std::set<std::string> names_;
  std::string table_;  // The name of the embedding's table.
};

}  // namespace ps

#endif  // MODELS_ONNX_NODE_LAYERS_H_
