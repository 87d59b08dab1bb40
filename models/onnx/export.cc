#include "models/onnx/export.h"

#include <cstdint>
#include <limits>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "models/described/described_layers.h"
#include "models/layers/unary_layers.h"
#include "models/onnx/graph_writer.h"
#include "models/onnx/recurrent_weights.h"
#include "proto/onnx.pb.h"

namespace ps {
namespace {

constexpr int64_t kOpset = 13;
constexpr int64_t kIrVersion = 7;

class Exporter {
 public:
  Exporter(const std::vector<DescribedLayer>& layers, int64_t num_tokens,
           const std::vector<SafetensorsTensor>& tensors,
           onnx::GraphProto* graph)
      : layers_(layers), num_tokens_(num_tokens), graph_(graph) {
    for (const SafetensorsTensor& tensor : tensors) {
      tensors_[tensor.name] = &tensor;
    }
  }

  // Adds the next `count` layers, which take the value `x`. Returns the name of
  // their output.
  absl::StatusOr<std::string> AddLayers(int count, std::string x) {
    for (int i = 0; i < count; ++i) {
      const DescribedLayer& layer = layers_[next_++];
      auto y = AddLayer(layer, x);
      PS_RETURN_IF_ERROR(
          Annotate(y.status(), absl::StrCat("layer \"", layer.name, "\"")));
      x = *std::move(y);
    }
    return x;
  }

 private:
  using Value = absl::StatusOr<std::string>;

  Value AddLayer(const DescribedLayer& layer, const std::string& x) {
    switch (layer.config->kind_case()) {
      case LayerConfig::KIND_NOT_SET:
        break;
      case LayerConfig::kConvolution:
        return AddConvolution(layer, x);
      case LayerConfig::kLinear:
        return AddLinear(layer, x);
      case LayerConfig::kBatchNorm:
        return AddBatchNorm(layer, x);
      case LayerConfig::kMaxPooling:
        return AddPooling("MaxPool", layer.config->max_pooling(), x);
      case LayerConfig::kAveragePooling:
        return AddPooling("AveragePool", layer.config->average_pooling(), x);
      case LayerConfig::kGlobalPooling:
        return AddGlobalPooling(layer, x);
      case LayerConfig::kAdaptivePooling:
        return AddAdaptivePooling(layer, x);
      case LayerConfig::kActivation:
        return AddActivation(layer.config->activation(), x);
      case LayerConfig::kFlatten:
        return Flatten(x);
      case LayerConfig::kDropout:
        return graph_
            .Add(
                "Dropout",
                {x, graph_.Scalar(static_cast<float>(layer.config->dropout()))})
            .output();
      case LayerConfig::kResidual:
        return AddResidual(layer.config->residual(), x);
      case LayerConfig::kSubsampling:
        return AddSubsampling(layer, x);
      case LayerConfig::kEmbedding:
        return AddEmbedding(layer, x);
      case LayerConfig::kLstm:
        return AddRecurrent(layer, layer.config->lstm(), x);
      case LayerConfig::kGru:
        return AddRecurrent(layer, layer.config->gru(), x);
      case LayerConfig::kLastStep:
        return graph_.Add("Gather", {x, graph_.Integer(-1)}).output();
      case LayerConfig::kFrameWindow:
        break;
    }
    return absl::UnimplementedError(
        "a frame_window has no counterpart in ONNX");
  }

  // Adds the tensor of this name and shape as a constant of the graph.
  Value Tensor(const std::string& name, const std::vector<int64_t>& shape) {
    PS_ASSIGN_OR_RETURN(const absl::Span<const float> values,
                        Values(name, shape));
    return graph_.Floats(name, shape, values);
  }

  absl::StatusOr<absl::Span<const float>> Values(
      const std::string& name, const std::vector<int64_t>& shape) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the weights lack ", name));
    }
    const SafetensorsTensor& tensor = *found->second;
    int64_t size = 1;
    for (const int64_t extent : shape) size *= extent;
    if (tensor.shape != shape ||
        static_cast<int64_t>(tensor.values.size()) != size) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " has shape [", absl::StrJoin(tensor.shape, ", "),
                       "] and dtype ", tensor.dtype, "; needs [",
                       absl::StrJoin(shape, ", "), "] in F32, F16 or BF16"));
    }
    return absl::MakeConstSpan(tensor.values);
  }

  std::string Flatten(const std::string& x) {
    return graph_.Add("Flatten", {x}).Set("axis", 1).output();
  }

  Value AddConvolution(const DescribedLayer& layer, const std::string& x) {
    const ConvolutionConfig& config = layer.config->convolution();
    const int64_t height = config.kernel_size(0);
    const int64_t width = config.kernel_size(config.kernel_size_size() - 1);
    std::vector<std::string> inputs = {x};
    PS_ASSIGN_OR_RETURN(
        inputs.emplace_back(),
        Tensor(layer.name + ".weight",
               {config.out_channels(), layer.input.channels / config.groups(),
                height, width}));
    if (config.bias()) {
      PS_ASSIGN_OR_RETURN(
          inputs.emplace_back(),
          Tensor(layer.name + ".bias", {config.out_channels()}));
    }
    const int64_t stride = config.stride(), pad = config.padding();
    return graph_.Add("Conv", inputs, layer.name)
        .Set("kernel_shape", {height, width})
        .Set("strides", {stride, stride})
        .Set("pads", {pad, pad, pad, pad})
        .Set("group", config.groups())
        .output();
  }

  Value AddLinear(const DescribedLayer& layer, const std::string& x) {
    const int64_t in = layer.input.channels, out = layer.output.channels;
    const bool tied = layer.config->linear().tied_to_embedding();
    PS_ASSIGN_OR_RETURN(
        const std::string weight,
        Tensor((tied ? layers_[0].name : layer.name) + ".weight", {out, in}));
    PS_ASSIGN_OR_RETURN(const std::string bias,
                        Tensor(layer.name + ".bias", {out}));
    if (layer.input.is(LayerShape::Kind::kFeatures)) {
      return graph_.Add("Gemm", {x, weight, bias}, layer.name)
          .Set("transB", 1)
          .output();
    }
    const std::string transposed = graph_.Add("Transpose", {weight})
                                       .Set("perm", std::vector<int64_t>{1, 0})
                                       .output();
    const std::string product =
        graph_.Add("MatMul", {x, transposed}, layer.name).output();
    return graph_.Add("Add", {product, bias}).output();
  }

  Value AddBatchNorm(const DescribedLayer& layer, const std::string& x) {
    const BatchNormConfig& config = layer.config->batch_norm();
    std::vector<std::string> inputs = {x};
    for (const char* part :
         {".weight", ".bias", ".running_mean", ".running_var"}) {
      PS_ASSIGN_OR_RETURN(inputs.emplace_back(),
                          Tensor(layer.name + part, {layer.input.channels}));
    }
    // ONNX's momentum is the weight of the old value.
    return graph_.Add("BatchNormalization", inputs, layer.name)
        .SetFloat("epsilon", static_cast<float>(config.epsilon()))
        .SetFloat("momentum", static_cast<float>(1 - config.momentum()))
        .output();
  }

  Value AddPooling(const std::string& op, const PoolingConfig& config,
                   const std::string& x) {
    const int64_t size = config.kernel_size(), pad = config.padding();
    const int64_t stride = config.stride() == 0 ? size : config.stride();
    OnnxNode node = graph_.Add(op, {x});
    node.Set("kernel_shape", {size, size})
        .Set("strides", {stride, stride})
        .Set("pads", {pad, pad, pad, pad});
    if (op == "AveragePool") node.Set("count_include_pad", 1);
    return node.output();
  }

  Value AddAdaptivePooling(const DescribedLayer& layer, const std::string& x) {
    const LayerShape& in = layer.input;
    const LayerShape& out = layer.output;
    if (in.height % out.height != 0 || in.width % out.width != 0) {
      return absl::UnimplementedError(absl::StrCat(
          "ONNX cannot average ", in.height, " x ", in.width, " pixels to ",
          out.height, " x ", out.width, " parts of different sizes"));
    }
    const int64_t height = in.height / out.height, width = in.width / out.width;
    return graph_.Add("AveragePool", {x})
        .Set("kernel_shape", {height, width})
        .Set("strides", {height, width})
        .output();
  }

  Value AddActivation(const std::string& function, const std::string& x) {
    for (const NamedActivation& each : kActivations) {
      if (function == each.name) {
        return graph_.Add(each.onnx_operator, {x}).output();
      }
    }
    return absl::InternalError("an unknown activation, " + function);
  }

  Value AddResidual(const ResidualConfig& config, const std::string& x) {
    PS_ASSIGN_OR_RETURN(const std::string main,
                        AddLayers(config.layer_size(), x));
    PS_ASSIGN_OR_RETURN(const std::string shortcut,
                        AddLayers(config.shortcut_size(), x));
    return graph_.Add("Relu", {graph_.Add("Add", {main, shortcut}).output()})
        .output();
  }

  // Takes every stride-th pixel, with channels of zeros on both sides.
  Value AddSubsampling(const DescribedLayer& layer, std::string x) {
    const int64_t stride = layer.config->subsampling().stride();
    const int64_t end = std::numeric_limits<int32_t>::max();
    x = graph_
            .Add("Slice",
                 {x, graph_.Integers({0, 0}), graph_.Integers({end, end}),
                  graph_.Integers({2, 3}), graph_.Integers({stride, stride})})
            .output();
    const int64_t added = (layer.output.channels - layer.input.channels) / 2;
    return graph_
        .Add("Pad", {x, graph_.Integers({0, added, 0, 0, 0, added, 0, 0})})
        .output();
  }

  Value AddGlobalPooling(const DescribedLayer& layer, const std::string& x) {
    if (layer.input.is(LayerShape::Kind::kImages)) {
      return Flatten(graph_.Add("GlobalAveragePool", {x}).output());
    }
    return graph_.Add("ReduceMean", {x})
        .Set("axes", std::vector<int64_t>{0})
        .Set("keepdims", 0)
        .output();
  }

  Value AddEmbedding(const DescribedLayer& layer, const std::string& x) {
    PS_ASSIGN_OR_RETURN(
        const std::string table,
        Tensor(layer.name + ".weight",
               {num_tokens_, layer.config->embedding().features()}));
    return graph_.Add("Gather", {table, x}, layer.name).output();
  }

  Value AddRecurrent(const DescribedLayer& layer, const RecurrentConfig& config,
                     std::string x) {
    const bool lstm = layer.config->has_lstm();
    const int64_t hidden = config.hidden(), gates = lstm ? 4 : 3;
    int64_t features = layer.input.channels;
    for (int i = 0; i < config.layers(); ++i) {
      const auto values = [&](const char* part, std::vector<int64_t> shape) {
        return Values(absl::StrCat(layer.name, ".", part, "_l", i), shape);
      };
      const int64_t rows = gates * hidden;
      PS_ASSIGN_OR_RETURN(const auto input,
                          values("weight_ih", {rows, features}));
      PS_ASSIGN_OR_RETURN(const auto recurrent,
                          values("weight_hh", {rows, hidden}));
      PS_ASSIGN_OR_RETURN(const auto input_bias, values("bias_ih", {rows}));
      PS_ASSIGN_OR_RETURN(const auto recurrent_bias, values("bias_hh", {rows}));
      const char* const op = lstm ? "LSTM" : "GRU";
      const std::string name = absl::StrCat(layer.name, ".l", i);
      std::vector<float> biases = ToOnnxGates(input_bias, lstm);
      const std::vector<float> more = ToOnnxGates(recurrent_bias, lstm);
      biases.insert(biases.end(), more.begin(), more.end());
      if (i > 0 && config.dropout() > 0) {
        x = graph_
                .Add("Dropout",
                     {x, graph_.Scalar(static_cast<float>(config.dropout()))})
                .output();
      }
      OnnxNode node =
          graph_.Add(lstm ? "LSTM" : "GRU",
                     {x,
                      graph_.Floats(name + ".W", {1, rows, features},
                                    ToOnnxGates(input, lstm)),
                      graph_.Floats(name + ".R", {1, rows, hidden},
                                    ToOnnxGates(recurrent, lstm)),
                      graph_.Floats(name + ".B", {1, 2 * rows}, biases)},
                     // PyTorch uses such names.
                     i == 0 ? absl::StrCat("/", layer.name, "/", op)
                            : absl::StrCat("/", layer.name, "/", op, "_", i));
      node.Set("hidden_size", hidden);
      if (!lstm) node.Set("linear_before_reset", 1);
      // [steps, 1 direction, batch, hidden].
      x = graph_.Add("Squeeze", {node.output(), graph_.Integers({1})}).output();
      features = hidden;
    }
    return x;
  }

  const std::vector<DescribedLayer>& layers_;
  const int64_t num_tokens_;  // The number of tokens of text.
  size_t next_ = 0;
  GraphWriter graph_;
  std::map<std::string, const SafetensorsTensor*> tensors_;
};

// Declares an input or output; a dimension of -1 may be any number.
void Declare(const std::string& name, onnx::TensorProto::DataType type,
             const std::vector<std::pair<const char*, int64_t>>& extents,
             onnx::ValueInfoProto* value) {
  value->set_name(name);
  auto& tensor = *value->mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  for (const auto& [symbol, extent] : extents) {
    auto& dim = *tensor.mutable_shape()->add_dim();
    if (extent > 0) {
      dim.set_dim_value(extent);
    } else {
      dim.set_dim_param(symbol);
    }
  }
}

void DeclareInput(const ExampleShape& example, onnx::GraphProto* graph) {
  onnx::ValueInfoProto& input = *graph->add_input();
  switch (example.task) {
    case Task::kImages:
      return Declare("input", onnx::TensorProto::FLOAT,
                     {{"batch", -1},
                      {"", example.channels},
                      {"", example.height},
                      {"", example.width}},
                     &input);
    case Task::kWords:
    case Task::kCharacters:
    case Task::kTexts:
      return Declare("input", onnx::TensorProto::INT64,
                     {{"steps", -1}, {"batch", -1}}, &input);
    case Task::kSpeech:
      return Declare("input", onnx::TensorProto::FLOAT,
                     {{"steps", -1}, {"batch", -1}, {"", example.features}},
                     &input);
  }
}

}  // namespace

absl::StatusOr<std::string> ExportOnnx(
    const LayersConfig& layers, const ExampleShape& example,
    const std::vector<SafetensorsTensor>& tensors) {
  ConfigProblems problems;
  const DescribedLayers described =
      MakeDescribedLayers(layers, &example, &problems);
  if (!problems.lines().empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(problems.lines(), "\n"));
  }
  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("gradsieve");
  model.set_producer_version(kVersion);
  model.add_opset_import()->set_version(kOpset);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("network");
  DeclareInput(example, &graph);
  Exporter exporter(described.description, example.num_tokens(), tensors,
                    &graph);
  PS_RETURN_IF_ERROR(exporter.AddLayers(layers.layer_size(), "input").status());
  onnx::NodeProto& last = *graph.mutable_node()->rbegin();
  last.set_output(0, "output");
  const bool classes = HasClasses(example.task);
  onnx::ValueInfoProto& output = *graph.add_output();
  if (classes) {
    Declare("output", onnx::TensorProto::FLOAT,
            {{"batch", -1}, {"", example.num_classes}}, &output);
  } else {
    Declare("output", onnx::TensorProto::FLOAT,
            {{"steps", -1}, {"batch", -1}, {"", example.num_classes}}, &output);
  }
  std::string bytes;
  if (!model.SerializeToString(&bytes)) {
    return absl::ResourceExhaustedError("an ONNX file has at most 2 GiB");
  }
  return bytes;
}

}  // namespace ps
