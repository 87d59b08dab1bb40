#include "models/onnx/import.h"

#include <cstdint>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/batch.h"
#include "common/status_macros.h"
#include "models/described/described_layers.h"
#include "models/layers/residual_block.h"
#include "models/onnx/graph_reader.h"
#include "models/onnx/node_layers.h"
#include "proto/onnx.pb.h"

namespace ps {
namespace {

constexpr int kMaxDepth = 16;
constexpr size_t kMaxNodes = 10000;

// Follows the values from the input to the output.
class Walk {
 public:
  explicit Walk(const GraphReader* graph) : graph_(*graph), nodes_(graph) {}

  struct Path {
    std::vector<ImportedLayer> layers;
    ImportedValue end;
    // The Add in which the path meets another one; null: it is the output.
    const onnx::NodeProto* join = nullptr;
  };

  // first: the node to begin with, where others read the value, too.
  absl::StatusOr<Path> Follow(ImportedValue value, const onnx::NodeProto* first,
                              int depth) {
    Path path;
    path.end = std::move(value);
    while (true) {
      const onnx::NodeProto* node = std::exchange(first, nullptr);
      if (node == nullptr) {
        if (graph_.IsOutput(path.end.name)) return path;
        const std::vector<const onnx::NodeProto*> readers =
            Readers(path.end.name);
        if (readers.size() == 2) {
          PS_RETURN_IF_ERROR(ReadBlock(readers, depth, &path));
          continue;
        }
        if (readers.size() != 1) {
          return absl::UnimplementedError(absl::StrCat(
              "value \"", path.end.name, "\" is read by ", readers.size(),
              " nodes; in a network of model.layers by one, or by the two "
              "paths of a residual block"));
        }
        node = readers[0];
      }
      if (node->op_type() == "Add") {
        path.join = node;
        return path;
      }
      if (!visited_.insert(node).second || visited_.size() > kMaxNodes) {
        return absl::UnimplementedError(absl::StrCat(
            "the network has a cycle, or more than ", kMaxNodes, " nodes"));
      }
      PS_RETURN_IF_ERROR(Annotate(
          nodes_.Read(*node, &path.end, &path.layers),
          absl::StrCat("node \"", node->name(), "\" (", node->op_type(), ")")));
    }
  }

 private:
  std::vector<const onnx::NodeProto*> Readers(const std::string& value) const {
    std::vector<const onnx::NodeProto*> readers;
    for (const int reader : graph_.Readers(value)) {
      const onnx::NodeProto& node = graph_.node(reader);
      if (node.op_type() != "Shape") readers.push_back(&node);
    }
    return readers;
  }

  static bool EndsInNorm(const Path& path) {
    return !path.layers.empty() && path.layers.back().config.has_batch_norm();
  }

  // Two paths from the end of *path, an Add and a Relu.
  absl::Status ReadBlock(const std::vector<const onnx::NodeProto*>& readers,
                         int depth, Path* path) {
    if (depth == kMaxDepth) {
      return absl::UnimplementedError(
          absl::StrCat("blocks are nested more than ", kMaxDepth, " deep"));
    }
    PS_ASSIGN_OR_RETURN(Path main, Follow(path->end, readers[0], depth + 1));
    PS_ASSIGN_OR_RETURN(Path other, Follow(path->end, readers[1], depth + 1));
    const onnx::NodeProto* const relu =
        main.join != nullptr && main.join->output_size() == 1
            ? nodes_.OnlyReader(main.join->output(0))
            : nullptr;
    if (main.join != other.join || relu == nullptr ||
        relu->op_type() != "Relu" || relu->output_size() != 1) {
      return absl::UnimplementedError(absl::StrCat(
          "from value \"", path->end.name,
          "\" two paths go on; they must meet in an Add with a Relu after it"));
    }
    const bool swap = EndsInNorm(main) == EndsInNorm(other)
                          ? other.layers.size() > main.layers.size()
                          : EndsInNorm(other);
    if (swap) std::swap(main, other);
    if (!EndsInNorm(main)) PS_RETURN_IF_ERROR(AddNorm(&main));
    ImportedLayer& block = path->layers.emplace_back();
    block.config.mutable_residual();
    block.main = std::move(main.layers);
    block.shortcut = std::move(other.layers);
    path->end = {relu->output(0), main.end.channels};
    return absl::OkStatus();
  }

  // PyTorch folds batch normalisation into convolutions when it exports for
  // inference. A block needs one: this one changes nothing.
  static absl::Status AddNorm(Path* path) {
    if (path->layers.empty() || path->end.channels == 0) {
      return absl::UnimplementedError(
          "one path of a residual block must have layers with weights");
    }
    ImportedLayer& layer = path->layers.emplace_back();
    const float epsilon =
        static_cast<float>(layer.config.mutable_batch_norm()->epsilon());
    const int64_t n = path->end.channels;
    for (const auto& [name, value] :
         {std::make_pair("weight", 1.0f), std::make_pair("bias", 0.0f),
          std::make_pair("running_mean", 0.0f),
          std::make_pair("running_var", 1 - epsilon)}) {
      layer.tensors.push_back({name, {n}, "F32", std::vector<float>(n, value)});
    }
    return absl::OkStatus();
  }

  const GraphReader& graph_;
  NodeLayers nodes_;
  std::set<const onnx::NodeProto*> visited_;
};

// Moves the layers' configs into a list of the network, and their tensors
// behind those before, in the order in which the layers are described.
void Collect(std::vector<ImportedLayer>* layers, LayerConfigs* configs,
             std::vector<std::vector<SafetensorsTensor>>* tensors) {
  for (ImportedLayer& layer : *layers) {
    LayerConfig& config = *configs->Add();
    config.Swap(&layer.config);
    if (config.name().empty()) config.clear_name();
    tensors->push_back(std::move(layer.tensors));
    if (!config.has_residual()) continue;
    ResidualConfig& block = *config.mutable_residual();
    Collect(&layer.main, block.mutable_layer(), tensors);
    Collect(&layer.shortcut, block.mutable_shortcut(), tensors);
    NameBlock(&config);
  }
}

// The example that the input's declaration describes; none if a size is open.
absl::StatusOr<bool> ReadExample(const onnx::GraphProto& graph,
                                 const std::string& name,
                                 ExampleShape* example) {
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (input.name() != name) continue;
    const auto& dims = input.type().tensor_type().shape().dim();
    if (dims.size() != 4) return false;
    for (int i = 1; i < 4; ++i) {
      const int64_t extent = dims[i].dim_value();
      if (extent < 1) return false;
      if (extent > 65536) {
        return absl::UnimplementedError(absl::StrCat(
            "the input has an extent of ", extent, "; at most 65536 is read"));
      }
    }
    example->channels = dims[1].dim_value();
    example->height = dims[2].dim_value();
    example->width = dims[3].dim_value();
    return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<ImportedNetwork> ImportOnnx(absl::string_view bytes) {
  if (bytes.size() > std::numeric_limits<int32_t>::max()) {
    return absl::DataLossError("an ONNX model has at most 2 GiB");
  }
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError("the bytes are not an ONNX model");
  }
  if (model.graph().node().empty()) {
    return absl::DataLossError("the model has no nodes");
  }
  PS_ASSIGN_OR_RETURN(const GraphReader graph,
                      GraphReader::Create(model.graph()));
  PS_ASSIGN_OR_RETURN(const std::string input, graph.Input());
  ExampleShape example;
  PS_ASSIGN_OR_RETURN(const bool known,
                      ReadExample(model.graph(), input, &example));
  PS_ASSIGN_OR_RETURN(
      Walk::Path path,
      Walk(&graph).Follow({input, example.channels}, nullptr, 0));
  if (path.join != nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("node \"", path.join->name(),
                     "\", an Add, does not end a residual block"));
  }
  ImportedNetwork network;
  std::vector<std::vector<SafetensorsTensor>> tensors;
  Collect(&path.layers, network.layers.mutable_layer(), &tensors);
  example.num_classes = path.end.channels;
  ConfigProblems problems;
  const DescribedLayers described = MakeDescribedLayers(
      network.layers, known ? &example : nullptr, &problems);
  if (!problems.lines().empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(problems.lines(), "\n"));
  }
  for (size_t i = 0; i < described.description.size(); ++i) {
    for (SafetensorsTensor& tensor : tensors[i]) {
      tensor.name =
          absl::StrCat(described.description[i].name, ".", tensor.name);
      network.tensors.push_back(std::move(tensor));
    }
  }
  return network;
}

}  // namespace ps
