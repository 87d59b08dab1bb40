// Converts single nodes of an ONNX graph to layers.
#ifndef MODELS_ONNX_NODE_LAYERS_H_
#define MODELS_ONNX_NODE_LAYERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "formats/safetensors.h"
#include "models/onnx/graph_reader.h"
#include "proto/layers_config.pb.h"
#include "proto/onnx.pb.h"

namespace ps {

struct ImportedLayer {
  LayerConfig config;
  std::string node;  // The operator and name of the node, for messages.
  // The number of features of its output if the graph has it; otherwise 0.
  int64_t features = 0;
  // The tensors, with the ends of their names only: "weight".
  std::vector<SafetensorsTensor> tensors;
  // The layers of a residual block, in place of the lists in `config`.
  std::vector<ImportedLayer> main;
  std::vector<ImportedLayer> shortcut;
};

// Returns "node "/rnn/LSTM" (LSTM)".
std::string Describe(const onnx::NodeProto& node);

// Returns the module of PyTorch that a node belongs to: that of its name, "rnn"
// for "/rnn/LSTM_1" and "blocks.0.conv1" for "/blocks/blocks.0/conv1/Conv", or
// that of its metadata; otherwise the node's name.
std::string ModuleName(const onnx::NodeProto& node);

// A value that one node computes and another one reads.
struct ImportedValue {
  enum class Kind {
    kUnknown,
    kTokens,           // [steps, batch]
    kSequence,         // [steps, batch, channels]
    kDirections,       // [steps, 1, batch, channels], of LSTM and GRU nodes
    kMovedDirections,  // [steps, batch, 1, channels]
    kRows,             // [steps x batch, channels]
    kImages,           // [batch, channels, height, width]
    kPooled,           // [batch, channels, 1, 1], or fewer dimensions of 1
    kFeatures,         // [batch, channels]
  };
  std::string name;
  Kind kind = Kind::kUnknown;
  int64_t channels = 0;  // 0: not known.
  // The number of dimensions of 1 at the end of kPooled.
  int pooled_extents = 0;
  // The first two dimensions of the network's input; 0 if not known. For a
  // sequence they are the steps and the batch. In networks of batch_first
  // recurrent layers they are the batch and the steps, and a Transpose swaps
  // them.
  int64_t extents[2] = {0, 0};
  bool swapped = false;
};

// Reads nodes that compute one value from one other.
class NodeLayers {
 public:
  // `graph` must outlive this object.
  explicit NodeLayers(const GraphReader* graph) : graph_(*graph) {}

  // Adds the node's work on *value to the layers, and moves *value to its
  // output. Takes nodes after it, too, if several form one layer. Errors:
  // kUnimplemented for work that layers cannot do.
  absl::Status Read(const onnx::NodeProto& node, ImportedValue* value,
                    std::vector<ImportedLayer>* layers);

  // The number of omitted nodes, which change nothing, of each operator.
  const std::map<std::string, int>& left_out() const { return left_out_; }

  // Returns the only node that reads a value; null if there are others or none.
  // Nodes that ask for its shape do not count.
  const onnx::NodeProto* OnlyReader(const std::string& value) const;

 private:
  using Layers = std::vector<ImportedLayer>;

  // Returns a constant input of the node. Layers may share it, but a file must
  // not become much larger in this way.
  absl::StatusOr<const OnnxTensor*> Weight(const onnx::NodeProto& node,
                                           int input, size_t dimensions);
  // Returns the prefix of a weight's name, or the node's name; empty if neither
  // can be a layer's, or another layer has it.
  std::string LayerName(const onnx::NodeProto& node, int weight);
  absl::Status CountFloats(const OnnxTensor& tensor);
  // Returns a constant input that is added to each of n channels: [n], with any
  // number of dimensions of 1 before it.
  absl::StatusOr<std::vector<float>> Bias(const onnx::NodeProto& node,
                                          int input, int64_t n);
  // Refuses a node whose input still needs a change of its shape.
  static absl::Status CheckKind(const onnx::NodeProto& node,
                                ImportedValue* value, Layers* layers);

  absl::Status ReadConvolution(const onnx::NodeProto& node,
                               ImportedValue* value, Layers* layers);
  absl::Status ReadGemm(const onnx::NodeProto& node, ImportedValue* value,
                        Layers* layers);
  absl::Status ReadMatMul(const onnx::NodeProto& node, ImportedValue* value,
                          Layers* layers);
  absl::Status ReadBatchNorm(const onnx::NodeProto& node, Layers* layers);
  absl::Status ReadPooling(const onnx::NodeProto& node, int32_t more_padding,
                           Layers* layers);
  absl::Status ReadGlobalPooling(const onnx::NodeProto& node,
                                 ImportedValue* value, Layers* layers);
  absl::Status ReadPaddedPooling(const onnx::NodeProto& node,
                                 ImportedValue* value, Layers* layers);
  // Returns the pads of a Pad with zeros; empty if they are not constant.
  std::vector<int64_t> PadsOf(const onnx::NodeProto& node) const;
  // Reads nodes that change a shape: Flatten, Reshape, Squeeze, Transpose.
  absl::Status ReadReshape(const onnx::NodeProto& node, ImportedValue* value,
                           Layers* layers);
  absl::Status ReadSqueeze(const onnx::NodeProto& node, ImportedValue* value);
  static absl::Status ReadTranspose(const onnx::NodeProto& node,
                                    ImportedValue* value);
  absl::Status ReadCast(const onnx::NodeProto& node,
                        const ImportedValue& value);
  absl::Status ReadDropout(const onnx::NodeProto& node, Layers* layers);
  absl::Status ReadSubsampling(const onnx::NodeProto& node,
                               ImportedValue* value, Layers* layers);
  absl::Status ReadLastStep(const onnx::NodeProto& node, ImportedValue* value,
                            Layers* layers);
  // Returns the dimension of a sequence that counts its steps: 0 or 1.
  int64_t StepsAxis(const ImportedValue& value) const {
    return swapped_.value_or(value.swapped) == value.swapped ? 0 : 1;
  }
  absl::Status ReadEmbedding(const onnx::NodeProto& node, ImportedValue* value,
                             Layers* layers);
  absl::Status ReadRecurrent(const onnx::NodeProto& node, ImportedValue* value,
                             Layers* layers);
  bool IsZero(const std::string& value) const;

  const GraphReader& graph_;
  int64_t num_floats_ = 0;  // The number of floats of all weights so far.
  std::set<std::string> names_;
  const OnnxTensor* table_ = nullptr;  // The table of the embedding.
  std::map<std::string, int> left_out_;
  // The order of dimensions that recurrent layers take.
  std::optional<bool> swapped_;
};

}  // namespace ps

#endif  // MODELS_ONNX_NODE_LAYERS_H_
