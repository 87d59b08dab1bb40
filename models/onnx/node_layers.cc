#include "models/onnx/node_layers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "models/layers/unary_layers.h"
#include "models/onnx/attributes.h"

namespace ps {
namespace {

using Integers = std::vector<int64_t>;
using google::protobuf::internal::WireFormatLite;

constexpr int64_t kFewFloats = 1 << 20;
constexpr int kMostSlices = 2;
// The tag of NodeProto.metadata_props, which Debian's definition lacks.
constexpr uint32_t kMetadataTag = 9 << 3 | 2;

absl::Status Unimplemented(const std::string& what) {
  return absl::UnimplementedError(what);
}

// Narrows a number; one out of range stays out of the range that layers allow.
int32_t Narrow(int64_t value) {
  return static_cast<int32_t>(
      std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(),
                          std::numeric_limits<int32_t>::max()));
}

// Returns the decimal number that a float was: 1e-05 and not 9.99999975e-06.
double Decimal(double value) {
  double decimal = value;
  return absl::SimpleAtod(absl::StrCat(static_cast<float>(value)), &decimal)
             ? decimal
             : value;
}

SafetensorsTensor MakeTensor(const std::string& name, const Integers& shape,
                             std::vector<float> values) {
  return {name, shape, "F32", std::move(values)};
}

SafetensorsTensor Filled(const std::string& name, int64_t size, float value) {
  return MakeTensor(name, {size}, std::vector<float>(size, value));
}

// Returns the pads that PyTorch computes in the graph from those of
// torch.nn.functional.pad, which begin with the last dimension; empty if the
// node is something else.
Integers ComputedPads(const GraphReader& graph, std::string value) {
  for (const char* const op :
       {"Cast", "Reshape", "Transpose", "Slice", "Reshape", "Concat"}) {
    const onnx::NodeProto* const writer = graph.Writer(value);
    if (writer == nullptr || writer->op_type() != op ||
        writer->input_size() == 0) {
      return {};
    }
    value = writer->input(0);
  }
  const onnx::NodeProto* const cast = graph.Writer(value);
  if (cast != nullptr && cast->op_type() == "Cast" && cast->input_size() == 1) {
    value = cast->input(0);
  }
  const OnnxTensor* const given = graph.Constant(value);
  if (given == nullptr || given->integers.size() > 8 ||
      given->integers.size() % 2 != 0) {
    return {};
  }
  Integers pads(8);
  for (size_t i = 0; i < given->integers.size(); ++i) {
    pads[(i % 2 == 0 ? 3 : 7) - i / 2] = given->integers[i];
  }
  return pads;
}

// A kernel that slides over an image: one stride, equal padding on all sides.
struct Sliding {
  Integers kernel;  // The height and width.
  int32_t stride = 1;
  int32_t padding = 0;
};

bool AllAre(const Integers& values, int64_t value) {
  return std::all_of(values.begin(), values.end(),
                     [value](int64_t other) { return other == value; });
}

absl::StatusOr<Sliding> ReadSliding(const onnx::NodeProto& node,
                                    const Integers& kernel) {
  const auto list = [&](const char* name, size_t size, int64_t otherwise) {
    Integers values = IntegersAttribute(node, name);
    return values.empty() ? Integers(size, otherwise) : values;
  };
  const Integers strides = list("strides", 2, 1);
  const Integers pads = list("pads", 4, 0);
  const Integers dilations = list("dilations", 2, 1);
  const std::string automatic = StringAttribute(node, "auto_pad", "NOTSET");
  if (kernel.size() != 2 || strides.size() != 2 || pads.size() != 4 ||
      dilations.size() != 2) {
    return Unimplemented("only images have this operator: two dimensions");
  }
  if (strides[0] != strides[1] || !AllAre(pads, pads[0]) ||
      !AllAre(dilations, 1) ||
      (automatic != "NOTSET" && automatic != "VALID") ||
      IntegerAttribute(node, "ceil_mode", 0) != 0) {
    return Unimplemented(absl::StrCat(
        "strides [", absl::StrJoin(strides, ", "), "], pads [",
        absl::StrJoin(pads, ", "), "], dilations [",
        absl::StrJoin(dilations, ", "), "], auto_pad ", automatic,
        ": needs one stride, one padding for all sides, and neither dilation "
        "nor ceil_mode"));
  }
  return Sliding{kernel, Narrow(strides[0]), Narrow(pads[0])};
}

// Returns "/blocks/blocks.0/conv1/conv2d" for the scopes "['', 'blocks',
// 'blocks.0', 'blocks.0.conv1', 'conv2d']" that PyTorch's exporter writes;
// empty if there are none.
std::string ScopesInMetadata(const onnx::NodeProto& node) {
  google::protobuf::io::CodedInputStream fields(
      reinterpret_cast<const uint8_t*>(node.unknown_fields().data()),
      static_cast<int>(node.unknown_fields().size()));
  while (const uint32_t tag = fields.ReadTag()) {
    std::string bytes;
    onnx::StringStringEntryProto entry;
    if (tag != kMetadataTag) {
      if (!WireFormatLite::SkipField(&fields, tag)) break;
    } else if (WireFormatLite::ReadBytes(&fields, &bytes) &&
               entry.ParseFromString(bytes) &&
               entry.key() == "pkg.torch.onnx.name_scopes") {
      return absl::StrReplaceAll(
          entry.value(), {{"[", ""}, {"]", ""}, {"'", ""}, {", ", "/"}});
    }
  }
  return "";
}

bool IsLayerName(const std::string& name) {
  return !name.empty() && name.size() <= 100 &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
         });
}

}  // namespace

std::string Describe(const onnx::NodeProto& node) {
  return node.name().empty() && node.output_size() > 0
             ? absl::StrCat("the node of value \"", node.output(0), "\" (",
                            node.op_type(), ")")
             : absl::StrCat("node \"", node.name(), "\" (", node.op_type(),
                            ")");
}

std::string ModuleName(const onnx::NodeProto& node) {
  std::string scopes = ScopesInMetadata(node);
  if (scopes.empty()) scopes = node.name();
  std::vector<std::string> parts = absl::StrSplit(scopes, '/');
  if (parts.size() == 1) return scopes;
  parts.pop_back();
  std::vector<std::string> modules;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    // A scope such as "blocks" precedes "blocks.0".
    if (!modules.empty() && absl::StartsWith(part, modules.back() + ".")) {
      modules.back() = part;
    } else {
      modules.push_back(part);
    }
  }
  return absl::StrJoin(modules, ".");
}

absl::Status NodeLayers::Read(const onnx::NodeProto& node, ImportedValue* value,
                              std::vector<ImportedLayer>* layers) {
  const std::string& op = node.op_type();
  const bool own_domain = !node.domain().empty() && node.domain() != "ai.onnx";
  if (node.output_size() == 0 || own_domain) {
    return Unimplemented(
        "a network of model.layers has no such operator (docs/weights.md)");
  }
  // The value is the only input of the node that changes, as for layers.
  if (op == "Gather" && node.input_size() < 2) {
    return Unimplemented("it must have two inputs");
  }
  // A table of an embedding is a constant.
  const int input = op == "Gather" && graph_.IsConstant(node.input(0)) ? 1 : 0;
  if (node.input_size() <= input || node.input(input) != value->name) {
    return Unimplemented("its input is not where a layer has it");
  }
  if (node.output(0).empty()) return Unimplemented("its output is not used");
  PS_RETURN_IF_ERROR(CheckKind(node, value, layers));
  value->name = node.output(0);
  if (op == "Conv") return ReadConvolution(node, value, layers);
  if (op == "Gemm") return ReadGemm(node, value, layers);
  if (op == "MatMul") return ReadMatMul(node, value, layers);
  if (op == "BatchNormalization") return ReadBatchNorm(node, layers);
  if (op == "MaxPool" || op == "AveragePool") {
    return ReadPooling(node, /*more_padding=*/0, layers);
  }
  if (op == "GlobalAveragePool" || op == "ReduceMean") {
    return ReadGlobalPooling(node, value, layers);
  }
  if (op == "Flatten" || op == "Reshape") {
    return ReadReshape(node, value, layers);
  }
  if (op == "Squeeze") return ReadSqueeze(node, value);
  if (op == "Transpose") return ReadTranspose(node, value);
  if (op == "Cast") return ReadCast(node, *value);
  if (op == "Dropout") return ReadDropout(node, layers);
  if (op == "Pad") return ReadPaddedPooling(node, value, layers);
  if (op == "Slice") return ReadSubsampling(node, value, layers);
  if (op == "Gather" && input == 0) return ReadLastStep(node, value, layers);
  if (op == "Gather") return ReadEmbedding(node, value, layers);
  if (op == "LSTM" || op == "GRU") return ReadRecurrent(node, value, layers);
  // The loss takes the softmax itself.
  const bool is_softmax = op == "Softmax" || op == "LogSoftmax";
  if (op == "Identity" || (is_softmax && graph_.IsOutput(node.output(0)))) {
    ++left_out_[op];
    return absl::OkStatus();
  }
  for (const NamedActivation& each : kActivations) {
    if (op != each.onnx_operator) continue;
    layers->emplace_back().config.set_activation(each.name);
    return absl::OkStatus();
  }
  return Unimplemented(
      "a network of model.layers has no such operator (docs/weights.md)");
}

const onnx::NodeProto* NodeLayers::OnlyReader(const std::string& value) const {
  const onnx::NodeProto* only = nullptr;
  for (const int reader : graph_.Readers(value)) {
    const onnx::NodeProto& node = graph_.node(reader);
    if (node.op_type() == "Shape") continue;
    if (only != nullptr) return nullptr;
    only = &node;
  }
  return only;
}

absl::StatusOr<const OnnxTensor*> NodeLayers::Weight(
    const onnx::NodeProto& node, int input, size_t dimensions) {
  const OnnxTensor* const weight =
      input < node.input_size() ? graph_.Constant(node.input(input)) : nullptr;
  if (weight == nullptr || weight->shape.size() != dimensions ||
      weight->floats.empty()) {
    const bool too_large =
        input < node.input_size() && graph_.IsTooLarge(node.input(input));
    return Unimplemented(absl::StrCat(
        "input ", input, " must be a constant of float32 with ", dimensions,
        " dimensions",
        too_large ? "; what the graph makes of the file's constants for it is "
                    "several times larger than they are"
                  : ""));
  }
  PS_RETURN_IF_ERROR(CountFloats(*weight));
  return weight;
}

absl::StatusOr<std::vector<float>> NodeLayers::Bias(const onnx::NodeProto& node,
                                                    int input, int64_t n) {
  const OnnxTensor* const bias =
      input < node.input_size() ? graph_.Constant(node.input(input)) : nullptr;
  if (bias == nullptr || static_cast<int64_t>(bias->floats.size()) != n ||
      (bias->shape.empty() ? n != 1 : bias->shape.back() != n)) {
    return Unimplemented(absl::StrCat(
        "input ", input, ", the bias, ",
        bias == nullptr ? "is computed"
                        : absl::StrCat("has the shape [",
                                       absl::StrJoin(bias->shape, ", "), "]"),
        "; must be a constant of float32, a number for each of the ", n,
        " channels or features"));
  }
  PS_RETURN_IF_ERROR(CountFloats(*bias));
  return bias->floats;
}

absl::Status NodeLayers::CountFloats(const OnnxTensor& tensor) {
  num_floats_ += static_cast<int64_t>(tensor.floats.size());
  if (num_floats_ > 4 * graph_.num_floats() + kFewFloats) {
    return Unimplemented("too many layers share their weights");
  }
  return absl::OkStatus();
}

std::string NodeLayers::LayerName(const onnx::NodeProto& node, int weight) {
  // Where PyTorch finds equal tensors, it writes one of them, and an Identity
  // that has the name of the other.
  const std::string own = node.input(weight);
  const std::string tensor =
      absl::EndsWith(own, ".weight") ? own : graph_.NameOf(own);
  absl::string_view front = tensor;
  const std::string name = absl::ConsumeSuffix(&front, ".weight")
                               ? std::string(front)
                               : ModuleName(node);
  return IsLayerName(name) && names_.insert(name).second ? name : "";
}

absl::Status NodeLayers::ReadConvolution(const onnx::NodeProto& node,
                                         ImportedValue* value, Layers* layers) {
  PS_ASSIGN_OR_RETURN(const OnnxTensor* const weight, Weight(node, 1, 4));
  PS_ASSIGN_OR_RETURN(const Sliding sliding,
                      ReadSliding(node, {weight->shape[2], weight->shape[3]}));
  const int64_t groups = IntegerAttribute(node, "group", 1);
  ImportedLayer& layer = layers->emplace_back();
  layer.config.set_name(LayerName(node, 1));
  ConvolutionConfig& config = *layer.config.mutable_convolution();
  config.set_out_channels(Narrow(weight->shape[0]));
  config.add_kernel_size(Narrow(sliding.kernel[0]));
  if (sliding.kernel[0] != sliding.kernel[1]) {
    config.add_kernel_size(Narrow(sliding.kernel[1]));
  }
  if (sliding.stride != 1) config.set_stride(sliding.stride);
  if (sliding.padding != 0) config.set_padding(sliding.padding);
  if (groups != 1) config.set_groups(Narrow(groups));
  layer.tensors.push_back(MakeTensor("weight", weight->shape, weight->floats));
  if (node.input_size() > 2 && !node.input(2).empty()) {
    const int64_t out = weight->shape[0];
    PS_ASSIGN_OR_RETURN(std::vector<float> bias, Bias(node, 2, out));
    layer.tensors.push_back(MakeTensor("bias", {out}, std::move(bias)));
  } else {
    config.set_bias(false);
  }
  value->kind = ImportedValue::Kind::kImages;
  value->channels = weight->shape[0];
  return absl::OkStatus();
}

absl::Status NodeLayers::ReadGemm(const onnx::NodeProto& node,
                                  ImportedValue* value, Layers* layers) {
  PS_ASSIGN_OR_RETURN(const OnnxTensor* const weight, Weight(node, 1, 2));
  if (FloatAttribute(node, "alpha", 1) != 1 ||
      FloatAttribute(node, "beta", 1) != 1 ||
      IntegerAttribute(node, "transA", 0) != 0) {
    return Unimplemented("alpha and beta must be 1, and transA 0");
  }
  const bool transposed = IntegerAttribute(node, "transB", 0) != 0;
  OnnxTensor matrix = transposed ? *weight : Transposed(*weight);
  const int64_t out = matrix.shape[0];
  ImportedLayer& layer = layers->emplace_back();
  layer.config.set_name(LayerName(node, 1));
  layer.config.mutable_linear()->set_out_features(Narrow(out));
  layer.tensors.push_back(
      MakeTensor("weight", matrix.shape, std::move(matrix.floats)));
  if (node.input_size() > 2 && !node.input(2).empty()) {
    PS_ASSIGN_OR_RETURN(std::vector<float> bias, Bias(node, 2, out));
    layer.tensors.push_back(MakeTensor("bias", {out}, std::move(bias)));
  } else {
    layer.tensors.push_back(Filled("bias", out, 0));
  }
  if (value->kind == ImportedValue::Kind::kUnknown) {
    value->kind = ImportedValue::Kind::kFeatures;
  }
  value->channels = out;
  return absl::OkStatus();
}

absl::Status NodeLayers::ReadMatMul(const onnx::NodeProto& node,
                                    ImportedValue* value, Layers* layers) {
  PS_ASSIGN_OR_RETURN(const OnnxTensor* const weight, Weight(node, 1, 2));
  const int64_t out = weight->shape[1];
  ImportedLayer& layer = layers->emplace_back();
  LinearConfig& config = *layer.config.mutable_linear();
  config.set_out_features(Narrow(out));
  OnnxTensor matrix = Transposed(*weight);
  // With a transposed weight, only equal values show that it is tied.
  if (table_ != nullptr && matrix.shape == table_->shape &&
      matrix.floats == table_->floats) {
    config.set_tied_to_embedding(true);
  } else {
    layer.config.set_name(LayerName(node, 1));
    layer.tensors.push_back(
        MakeTensor("weight", matrix.shape, std::move(matrix.floats)));
  }
  value->channels = out;
  // The bias may be either input of the next node.
  const onnx::NodeProto* const add = OnlyReader(value->name);
  if (add != nullptr && add->op_type() == "Add" && add->input_size() == 2 &&
      add->output_size() == 1) {
    const bool first = graph_.IsConstant(add->input(0));
    if (first || graph_.IsConstant(add->input(1))) {
      auto bias = Bias(*add, first ? 0 : 1, out);
      PS_RETURN_IF_ERROR(Annotate(bias.status(), Describe(*add)));
      layer.tensors.push_back(MakeTensor("bias", {out}, *std::move(bias)));
      absl::string_view name = add->input(first ? 0 : 1);
      if (layer.config.name().empty() && absl::ConsumeSuffix(&name, ".bias") &&
          IsLayerName(std::string(name)) &&
          names_.insert(std::string(name)).second) {
        layer.config.set_name(std::string(name));
      }
      value->name = add->output(0);
      return absl::OkStatus();
    }
  }
  layer.tensors.push_back(Filled("bias", out, 0));
  return absl::OkStatus();
}

absl::Status NodeLayers::ReadBatchNorm(const onnx::NodeProto& node,
                                       Layers* layers) {
  ImportedLayer& layer = layers->emplace_back();
  int input = 1;
  for (const char* part : {"weight", "bias", "running_mean", "running_var"}) {
    PS_ASSIGN_OR_RETURN(const OnnxTensor* const values,
                        Weight(node, input++, 1));
    if (!layer.tensors.empty() && layer.tensors[0].shape != values->shape) {
      return Unimplemented("its inputs must have one number for each channel");
    }
    layer.tensors.push_back(MakeTensor(part, values->shape, values->floats));
  }
  layer.config.set_name(LayerName(node, 1));
  BatchNormConfig& config = *layer.config.mutable_batch_norm();
  const double epsilon = Decimal(FloatAttribute(node, "epsilon", 1e-5));
  const double momentum = Decimal(1 - FloatAttribute(node, "momentum", 0.9));
  if (epsilon != config.epsilon()) config.set_epsilon(epsilon);
  if (momentum != config.momentum()) config.set_momentum(momentum);
  return absl::OkStatus();
}

absl::Status NodeLayers::ReadPooling(const onnx::NodeProto& node,
                                     int32_t more_padding, Layers* layers) {
  PS_ASSIGN_OR_RETURN(
      Sliding sliding,
      ReadSliding(node, IntegersAttribute(node, "kernel_shape")));
  if (sliding.kernel[0] != sliding.kernel[1]) {
    return Unimplemented(absl::StrCat("a window of ", sliding.kernel[0], " x ",
                                      sliding.kernel[1], "; must be a square"));
  }
  const bool is_max = node.op_type() == "MaxPool";
  if (!is_max && sliding.padding != 0 &&
      IntegerAttribute(node, "count_include_pad", 0) == 0) {
    return Unimplemented("count_include_pad must be 1");
  }
  sliding.padding = Narrow(int64_t{sliding.padding} + more_padding);
  LayerConfig& layer = layers->emplace_back().config;
  PoolingConfig& config =
      is_max ? *layer.mutable_max_pooling() : *layer.mutable_average_pooling();
  config.set_kernel_size(Narrow(sliding.kernel[0]));
  if (sliding.stride != sliding.kernel[0]) config.set_stride(sliding.stride);
  if (sliding.padding != 0) config.set_padding(sliding.padding);
  return absl::OkStatus();
}

// PyTorch writes the padding of AvgPool2d as a node of its own.
absl::Status NodeLayers::ReadPaddedPooling(const onnx::NodeProto& node,
                                           ImportedValue* value,
                                           Layers* layers) {
  const onnx::NodeProto* const next = OnlyReader(value->name);
  const Integers pads = PadsOf(node);
  // A block of PyTorch may pad by a number that is 0.
  if (pads.size() == 8 && AllAre(pads, 0)) return absl::OkStatus();
  const int64_t pad = pads.size() == 8 ? pads[2] : 0;
  if (next == nullptr || next->op_type() != "AveragePool" ||
      next->output_size() != 1 || pad < 0 ||
      pads != Integers{0, 0, pad, pad, 0, 0, pad, pad}) {
    return Unimplemented(
        "it must pad all sides of images by the same zeros for an AveragePool, "
        "or channels after a Slice");
  }
  value->name = next->output(0);
  return ReadPooling(*next, Narrow(pad), layers);
}

Integers NodeLayers::PadsOf(const onnx::NodeProto& node) const {
  if (node.input_size() < 2 ||
      StringAttribute(node, "mode", "constant") != "constant" ||
      (node.input_size() > 2 && !IsZero(node.input(2)))) {
    return {};
  }
  const OnnxTensor* const pads = graph_.Constant(node.input(1));
  return pads != nullptr ? pads->integers : ComputedPads(graph_, node.input(1));
}

absl::Status NodeLayers::ReadDropout(const onnx::NodeProto& node,
                                     Layers* layers) {
  double ratio = FloatAttribute(node, "ratio", 0.5);
  if (node.input_size() > 1 && !node.input(1).empty()) {
    const OnnxTensor* const given = graph_.Constant(node.input(1));
    if (given == nullptr || given->floats.size() != 1) {
      return Unimplemented("the ratio must be a constant");
    }
    ratio = given->floats[0];
  }
  layers->emplace_back().config.set_dropout(Decimal(ratio));
  return absl::OkStatus();
}

// Reads one Slice or two, and a Pad of channels.
absl::Status NodeLayers::ReadSubsampling(const onnx::NodeProto& node,
                                         ImportedValue* value, Layers* layers) {
  int64_t strides[2] = {1, 1};
  const onnx::NodeProto* next = &node;
  for (int slices = 0; next != nullptr && next->op_type() == "Slice" &&
                       next->output_size() == 1;
       ++slices) {
    if (slices == kMostSlices) {
      return Unimplemented("more than two follow each other");
    }
    const OnnxTensor* parts[5] = {};
    for (int i = 1; i < 5; ++i) {
      parts[i] =
          i < next->input_size() ? graph_.Constant(next->input(i)) : nullptr;
      if (parts[i] == nullptr ||
          parts[i]->integers.size() != parts[1]->integers.size()) {
        return Unimplemented(
            "starts, ends, axes and steps must be constants of one size");
      }
    }
    for (size_t i = 0; i < parts[1]->integers.size(); ++i) {
      const int64_t axis = parts[3]->integers[i];
      const int64_t step = parts[4]->integers[i];
      const bool whole =
          parts[1]->integers[i] == 0 &&
          parts[2]->integers[i] >= std::numeric_limits<int32_t>::max();
      if ((axis != 2 && axis != 3) || step < 1 || !whole) {
        return Unimplemented(
            "must take every n-th pixel of whole rows and columns");
      }
      strides[axis - 2] = step;
    }
    value->name = next->output(0);
    next = OnlyReader(value->name);
  }
  if (strides[0] != strides[1]) {
    return Unimplemented("must have one stride for rows and columns");
  }
  SubsamplingConfig& config =
      *layers->emplace_back().config.mutable_subsampling();
  if (strides[0] != config.stride()) config.set_stride(Narrow(strides[0]));
  if (next == nullptr || next->op_type() != "Pad" ||
      next->input(0) != value->name) {
    return absl::OkStatus();
  }
  Integers others = PadsOf(*next);
  if (others.size() != 8 || next->output_size() != 1 || value->channels == 0) {
    return Unimplemented(
        "a Pad must add a constant number of zeros to a known number of "
        "channels");
  }
  const int64_t added = std::exchange(others[1], 0);
  if (std::exchange(others[5], 0) != added || !AllAre(others, 0) || added < 0 ||
      added > std::numeric_limits<int32_t>::max()) {
    return Unimplemented(
        "a Pad must add as many channels before the others as after them");
  }
  value->channels += 2 * added;
  value->name = next->output(0);
  if (added > 0) config.set_out_channels(Narrow(value->channels));
  return absl::OkStatus();
}

absl::Status NodeLayers::ReadEmbedding(const onnx::NodeProto& node,
                                       ImportedValue* value, Layers* layers) {
  PS_ASSIGN_OR_RETURN(const OnnxTensor* const table, Weight(node, 0, 2));
  if (IntegerAttribute(node, "axis", 0) != 0) {
    return Unimplemented("must take rows of a table: axis 0");
  }
  ImportedLayer& layer = layers->emplace_back();
  layer.config.set_name(LayerName(node, 0));
  layer.config.mutable_embedding()->set_features(Narrow(table->shape[1]));
  layer.tensors.push_back(MakeTensor("weight", table->shape, table->floats));
  table_ = table;
  value->kind = ImportedValue::Kind::kSequence;
  value->channels = table->shape[1];
  return absl::OkStatus();
}

bool NodeLayers::IsZero(const std::string& value) const {
  if (value.empty()) return true;
  if (const OnnxTensor* const constant = graph_.Constant(value)) {
    return !constant->floats.empty() &&
           std::all_of(constant->floats.begin(), constant->floats.end(),
                       [](float x) { return x == 0; });
  }
  // PyTorch creates a state that a network does not give: zeros of a size that
  // the graph computes.
  const onnx::NodeProto* writer = graph_.Writer(value);
  if (writer != nullptr && writer->op_type() == "Slice" &&
      writer->input_size() > 0) {
    writer = graph_.Writer(writer->input(0));
  }
  if (writer == nullptr) return false;
  if (writer->op_type() == "Expand") {
    return writer->input_size() > 0 && graph_.IsConstant(writer->input(0)) &&
           IsZero(writer->input(0));
  }
  if (writer->op_type() != "ConstantOfShape") return false;
  for (const onnx::AttributeProto& attribute : writer->attribute()) {
    const onnx::TensorProto& fill = attribute.t();
    const std::string& raw = fill.raw_data();
    if (attribute.name() == "value" &&
        (std::any_of(raw.begin(), raw.end(), [](char c) { return c != 0; }) ||
         std::any_of(fill.float_data().begin(), fill.float_data().end(),
                     [](float x) { return x != 0; }))) {
      return false;
    }
  }
  return true;
}

}  // namespace ps
