#include "models/onnx/import.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/batch.h"
#include "common/counted.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "models/described/described_layers.h"
#include "models/layers/residual_block.h"
#include "models/onnx/graph_reader.h"
#include "models/onnx/node_layers.h"
#include "models/onnx/not_onnx.h"
#include "proto/onnx.pb.h"

namespace ps {
namespace {

constexpr int kMaxDepth = 16;
constexpr int64_t kMaxExtent = 1 << 24;
constexpr int64_t kMaxImageExtent = 65536;
constexpr size_t kMaxNodes = 10000;

// Follows the values from the input to the output.
class Walk {
 public:
  explicit Walk(const GraphReader* graph) : graph_(*graph), nodes_(graph) {}

  const std::map<std::string, int>& left_out() const {
    return nodes_.left_out();
  }
  // The number of normalisations that the blocks need and the graph lacks.
  int added_norms() const { return added_norms_; }

  struct Path {
    std::vector<ImportedLayer> layers;
    ImportedValue end;
    // The Add in which the path meets another one; null if it ends in the
    // output.
    const onnx::NodeProto* join = nullptr;
  };

  // Follows a value, from `first` if other nodes read the value, too.
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
      const size_t before = path.layers.size();
      PS_RETURN_IF_ERROR(Annotate(nodes_.Read(*node, &path.end, &path.layers),
                                  Describe(*node)));
      for (size_t i = before; i < path.layers.size(); ++i) {
        path.layers[i].node = Describe(*node);
      }
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

  // Reads two paths from the end of *path, an Add and a Relu.
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
    if (!EndsInNorm(main)) {
      PS_RETURN_IF_ERROR(AddNorm(&main));
      ++added_norms_;
    }
    ImportedLayer& block = path->layers.emplace_back();
    block.config.mutable_residual();
    block.main = std::move(main.layers);
    block.shortcut = std::move(other.layers);
    path->end = main.end;
    path->end.name = relu->output(0);
    return absl::OkStatus();
  }

  // Adds a batch normalisation that changes nothing, which a block needs:
  // PyTorch folds it into the convolution when it exports for inference.
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
  int added_norms_ = 0;
};

// Moves the layers' configs into a list of the network, and appends the layers
// to *all, in the order in which they are described.
void Collect(std::vector<ImportedLayer>* layers, LayerConfigs* configs,
             std::vector<ImportedLayer>* all) {
  for (ImportedLayer& layer : *layers) {
    LayerConfig& config = *configs->Add();
    config.Swap(&layer.config);
    if (config.name().empty()) config.clear_name();
    std::vector<ImportedLayer> main = std::move(layer.main);
    std::vector<ImportedLayer> shortcut = std::move(layer.shortcut);
    all->push_back(std::move(layer));
    if (!config.has_residual()) continue;
    ResidualConfig& block = *config.mutable_residual();
    Collect(&main, block.mutable_layer(), all);
    Collect(&shortcut, block.mutable_shortcut(), all);
    NameBlock(&config);
  }
}

// Returns the field that gives the kind of a layer: "max_pooling".
const std::string& KindOf(const LayerConfig& layer) {
  return LayerConfig::descriptor()
      ->FindFieldByNumber(layer.kind_case())
      ->name();
}

bool HasTensors(const LayerConfig& layer) {
  return layer.has_convolution() || layer.has_linear() ||
         layer.has_batch_norm() || layer.has_embedding() || layer.has_lstm() ||
         layer.has_gru();
}

// Gives layers unique names. A layer without a name has that of its position,
// which may be the name of another one where an exporter has omitted layers:
// PyTorch's Sequential numbers its layers, too. A layer with tensors gets a
// name of its own, which stays when layers are put before it.
void NameLayers(const std::string& prefix, const std::string& positions,
                LayerConfigs* layers, std::set<std::string>* taken) {
  const auto set_free_name = [&](std::string name, LayerConfig* layer) {
    while (!taken->insert(absl::StrCat(prefix, name)).second) name += "_";
    layer->set_name(name);
  };
  for (LayerConfig& layer : *layers) {
    if (layer.has_name()) set_free_name(layer.name(), &layer);
  }
  for (int i = 0; i < layers->size(); ++i) {
    LayerConfig& layer = *layers->Mutable(i);
    const std::string position = absl::StrCat(positions, i);
    if (!layer.has_name() &&
        (HasTensors(layer) ||
         !taken->insert(absl::StrCat(prefix, position)).second)) {
      set_free_name(absl::StrCat(KindOf(layer), "_", i), &layer);
    }
    if (!layer.has_residual()) continue;
    const std::string inside =
        absl::StrCat(prefix, layer.has_name() ? layer.name() : position, ".");
    NameLayers(inside, "layer.", layer.mutable_residual()->mutable_layer(),
               taken);
    NameLayers(inside, "shortcut.",
               layer.mutable_residual()->mutable_shortcut(), taken);
  }
}

// Reads the input's declaration. *example gets the dimensions of images; its
// height stays 0 if they are not all known.
absl::StatusOr<ImportedValue> ReadInput(const onnx::GraphProto& graph,
                                        const std::string& name,
                                        ExampleShape* example) {
  using Kind = ImportedValue::Kind;
  ImportedValue value;
  value.name = name;
  const auto declared =
      std::find_if(graph.input().begin(), graph.input().end(),
                   [&name](const auto& input) { return input.name() == name; });
  if (declared == graph.input().end()) return value;
  const auto& tensor = declared->type().tensor_type();
  std::vector<int64_t> extents;
  for (const auto& dim : tensor.shape().dim()) {
    // An open dimension is 0.
    extents.push_back(std::max<int64_t>(dim.dim_value(), 0));
    const int64_t most = tensor.shape().dim_size() == 4 && extents.size() > 1
                             ? kMaxImageExtent
                             : kMaxExtent;
    if (extents.back() > most) {
      return absl::UnimplementedError(
          absl::StrCat("the input has a dimension of ", extents.back(),
                       "; at most ", most, " is read"));
    }
  }
  const bool is_float = tensor.elem_type() == onnx::TensorProto::FLOAT;
  const bool is_integer = tensor.elem_type() == onnx::TensorProto::INT64 ||
                          tensor.elem_type() == onnx::TensorProto::INT32;
  if (is_float && extents.size() == 4) {
    value.kind = Kind::kImages;
    value.channels = extents[1];
    if (extents[1] > 0 && extents[2] > 0 && extents[3] > 0) {
      example->channels = extents[1];
      example->height = extents[2];
      example->width = extents[3];
    }
  } else if (is_float && extents.size() == 3) {
    value.kind = Kind::kSequence;
    value.channels = extents[2];
  } else if (is_float && extents.size() == 2) {
    value.kind = Kind::kFeatures;
    value.channels = extents[1];
  } else if (is_integer && extents.size() == 2) {
    value.kind = Kind::kTokens;
  }
  extents.resize(2);
  value.extents[0] = extents[0];
  value.extents[1] = extents[1];
  return value;
}

// Checks that a layer's weights fit its input.
absl::Status CheckFit(const DescribedLayer& layer,
                      const ImportedLayer& imported) {
  const int64_t channels = layer.input.channels;
  const LayerConfig& config = *layer.config;
  if (imported.features != 0 && layer.output.channels != 0 &&
      imported.features != layer.output.channels) {
    return absl::InvalidArgumentError(
        absl::StrCat(imported.node, " makes [batch, ", imported.features,
                     "] of ", ToString(layer.input), "; must be [batch, ",
                     layer.output.channels, "]"));
  }
  if (imported.tensors.empty() || channels == 0) return absl::OkStatus();
  const SafetensorsTensor& weight = imported.tensors[0];
  int64_t expected = channels;
  if (config.has_convolution()) {
    expected = weight.shape[1] * config.convolution().groups();
  } else if (config.has_batch_norm()) {
    expected = weight.shape[0];
  } else if (config.has_lstm() || config.has_gru() ||
             (config.has_linear() && !config.linear().tied_to_embedding())) {
    expected = weight.shape[1];
  }
  if (expected == channels) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      imported.node, ": its weights are for ", expected,
      " channels or features, and its input is ", ToString(layer.input)));
}

// Returns a text such as "The network takes images [1, 28, 28] and gives 10
// outputs. It has 4 layers (1 activation, 1 flatten, 2 linear) and 25,450
// parameters."
std::string Summary(const ImportedValue& input, const ExampleShape& example,
                    const ImportedNetwork& network,
                    const std::vector<DescribedLayer>& layers) {
  std::string takes = "images";
  if (input.kind == ImportedValue::Kind::kTokens) {
    takes = "words or characters";
  } else if (input.kind == ImportedValue::Kind::kSequence) {
    takes = absl::StrCat("frames of ", input.channels, " features");
  } else if (example.height > 0) {
    takes = absl::StrCat("images [", example.channels, ", ", example.height,
                         ", ", example.width, "]");
  }
  std::map<std::string, int> kinds;
  for (const DescribedLayer& layer : layers) ++kinds[KindOf(*layer.config)];
  std::vector<std::string> counts;
  for (const auto& [kind, count] : kinds) {
    counts.push_back(absl::StrCat(count, " ", kind));
  }
  int64_t parameters = 0;
  for (const SafetensorsTensor& tensor : network.tensors) {
    if (!absl::StrContains(tensor.name, ".running_")) {
      parameters += static_cast<int64_t>(tensor.values.size());
    }
  }
  const int64_t num_layers = static_cast<int64_t>(layers.size());
  return absl::StrCat("The network takes ", takes, " and gives ",
                      Counted(example.num_classes, "output"), ". It has ",
                      Counted(num_layers, "layer"), " (",
                      absl::StrJoin(counts, ", "), ") and ",
                      Counted(parameters, "parameter"), ".");
}

// Adds notes about changes of the graph beside reading its layers.
void AddNotes(const Walk& walk, bool by_pytorch,
              const std::vector<DescribedLayer>& layers,
              ImportedNetwork* network) {
  std::vector<std::string> left_out;
  for (const auto& [op, count] : walk.left_out()) {
    left_out.push_back(absl::StrCat(count, " ", op));
  }
  if (!left_out.empty()) {
    network->notes.push_back(absl::StrCat(
        "Left out, because it changes nothing or the loss does it: ",
        absl::StrJoin(left_out, ", "), "."));
  }
  if (walk.added_norms() > 0) {
    network->notes.push_back(
        absl::StrCat("A batch_norm that changes nothing at first was added to ",
                     Counted(walk.added_norms(), "residual block"),
                     ", which must end in one."));
  }
  const auto has = [&](bool (LayerConfig::*kind)() const) {
    return std::any_of(layers.begin(), layers.end(), [&](const auto& layer) {
      return (layer.config->*kind)();
    });
  };
  std::vector<std::string> missing;
  if (!has(&LayerConfig::has_dropout)) missing.push_back("leaves out Dropout");
  if (has(&LayerConfig::has_convolution) &&
      (walk.added_norms() > 0 || !has(&LayerConfig::has_batch_norm))) {
    missing.push_back("folds BatchNorm into convolutions");
  }
  if (by_pytorch && !missing.empty()) {
    network->notes.push_back(absl::StrCat(
        "PyTorch's exporter ", absl::StrJoin(missing, " and "),
        " in eval(), and the file does not say where: add the layers that you "
        "want to train with (docs/weights.md)."));
  }
}

}  // namespace

absl::StatusOr<ImportedNetwork> ImportOnnx(absl::string_view bytes,
                                           const ReadBeside& read_beside) {
  if (bytes.size() > std::numeric_limits<int32_t>::max()) {
    return absl::DataLossError("an ONNX model has at most 2 GiB");
  }
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      model.graph().node().empty()) {
    return absl::DataLossError(WhyNotOnnx(bytes));
  }
  PS_ASSIGN_OR_RETURN(const GraphReader graph,
                      GraphReader::Create(model.graph(), read_beside));
  PS_ASSIGN_OR_RETURN(const std::string name, graph.Input());
  ExampleShape example;
  example.height = 0;
  PS_ASSIGN_OR_RETURN(const ImportedValue input,
                      ReadInput(model.graph(), name, &example));
  const bool known = example.height > 0;
  Walk walk(&graph);
  PS_ASSIGN_OR_RETURN(Walk::Path path, walk.Follow(input, nullptr, 0));
  if (path.join != nullptr) {
    return absl::UnimplementedError(
        absl::StrCat(Describe(*path.join), " does not end a residual block"));
  }
  if (path.end.kind == ImportedValue::Kind::kDirections ||
      path.end.kind == ImportedValue::Kind::kMovedDirections) {
    return absl::UnimplementedError(
        "a Squeeze of the directions must follow an LSTM or GRU");
  }
  ImportedNetwork network;
  if (input.kind == ImportedValue::Kind::kFeatures) {
    ImportedLayer flatten;
    flatten.config.mutable_flatten();
    flatten.features = input.channels;
    path.layers.insert(path.layers.begin(), std::move(flatten));
  }
  std::vector<ImportedLayer> imported;
  Collect(&path.layers, network.layers.mutable_layer(), &imported);
  std::set<std::string> names;
  NameLayers("", "", network.layers.mutable_layer(), &names);
  example.num_classes = path.end.channels;
  ConfigProblems problems;
  const DescribedLayers described = MakeDescribedLayers(
      network.layers, known ? &example : nullptr, &problems);
  if (!problems.lines().empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(problems.lines(), "\n"));
  }
  for (size_t i = 0; i < described.description.size(); ++i) {
    const DescribedLayer& layer = described.description[i];
    PS_RETURN_IF_ERROR(CheckFit(layer, imported[i]));
    for (SafetensorsTensor& tensor : imported[i].tensors) {
      tensor.name = absl::StrCat(layer.name, ".", tensor.name);
      network.tensors.push_back(std::move(tensor));
    }
  }
  network.notes.push_back(
      Summary(input, example, network, described.description));
  AddNotes(walk, model.producer_name() == "pytorch", described.description,
           &network);
  if (input.kind == ImportedValue::Kind::kFeatures) {
    network.notes.push_back(
        "The file's input is [batch, features]: a flatten was put first, "
        "because data sets have images.");
  }
  return network;
}

absl::StatusOr<ImportedNetwork> ImportOnnxFile(const std::string& path) {
  PS_ASSIGN_OR_RETURN(const std::string bytes, ReadRegularFile(path));
  const auto read_beside = [&path](const std::string& name) {
    return ReadRegularFile(
        absl::StrCat(path.substr(0, path.rfind('/') + 1), name));
  };
  auto network = ImportOnnx(bytes, read_beside);
  PS_RETURN_IF_ERROR(Annotate(network.status(), path));
  return network;
}

}  // namespace ps
