#include "models/onnx/graph_reader.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {
namespace {

// Tensors of an interface have few dimensions; more are an attack on memory.
constexpr int kMaxDimensions = 8;

// The values of a tensor: either as bytes, little-endian, or as a list.
template <typename T, typename List>
absl::StatusOr<std::vector<T>> Values(const onnx::TensorProto& proto,
                                      const List& list, int64_t size) {
  const std::string& bytes = proto.raw_data();
  const size_t given = proto.has_raw_data()
                           ? bytes.size()
                           : static_cast<size_t>(list.size()) * sizeof(T);
  if (given != static_cast<size_t>(size) * sizeof(T)) {
    return absl::DataLossError(absl::StrCat("it has ", given,
                                            " bytes of values; ", size,
                                            " values fit its dimensions"));
  }
  if (!proto.has_raw_data()) return std::vector<T>(list.begin(), list.end());
  std::vector<T> values(static_cast<size_t>(size));
  if (size > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

absl::StatusOr<OnnxTensor> ReadTensor(const onnx::TensorProto& proto) {
  OnnxTensor tensor;
  if (proto.data_location() == onnx::TensorProto::EXTERNAL ||
      proto.external_data_size() > 0) {
    return absl::UnimplementedError(
        "its values are in another file; save the model as one file");
  }
  if (proto.dims_size() > kMaxDimensions) {
    return absl::UnimplementedError(absl::StrCat("it has ", proto.dims_size(),
                                                 " dimensions; at most ",
                                                 kMaxDimensions, " are read"));
  }
  // The data is in the file, so no size can exceed the file's.
  constexpr int64_t kMaxElements = int64_t{1} << 31;
  int64_t size = 1;
  for (const int64_t dim : proto.dims()) {
    if (dim < 0 || (dim > 0 && size > kMaxElements / dim)) {
      return absl::DataLossError(
          absl::StrCat("one of its dimensions is ", dim));
    }
    size *= dim;
    tensor.shape.push_back(dim);
  }
  // Values of other types are never weights of the layers that are known.
  if (proto.data_type() == onnx::TensorProto::FLOAT) {
    PS_ASSIGN_OR_RETURN(tensor.floats,
                        Values<float>(proto, proto.float_data(), size));
  } else if (proto.data_type() == onnx::TensorProto::INT64) {
    PS_ASSIGN_OR_RETURN(tensor.integers,
                        Values<int64_t>(proto, proto.int64_data(), size));
  }
  return tensor;
}

const onnx::AttributeProto* Find(const onnx::NodeProto& node,
                                 const std::string& name) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

}  // namespace

OnnxTensor Transposed(const OnnxTensor& matrix) {
  const int64_t rows = matrix.shape[0], columns = matrix.shape[1];
  OnnxTensor result;
  result.shape = {columns, rows};
  result.floats.resize(matrix.floats.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      result.floats[j * rows + i] = matrix.floats[i * columns + j];
    }
  }
  return result;
}

absl::StatusOr<GraphReader> GraphReader::Create(const onnx::GraphProto& graph) {
  GraphReader reader(graph);
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    PS_RETURN_IF_ERROR(reader.AddConstant(tensor.name(), tensor));
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    PS_RETURN_IF_ERROR(reader.AddNode(i));
  }
  return reader;
}

absl::Status GraphReader::AddConstant(const std::string& name,
                                      const onnx::TensorProto& proto) {
  absl::StatusOr<OnnxTensor> tensor = ReadTensor(proto);
  PS_RETURN_IF_ERROR(
      Annotate(tensor.status(), absl::StrCat("tensor \"", name, "\"")));
  num_floats_ += static_cast<int64_t>(tensor->floats.size());
  names_[name] = name;
  if (constants_.emplace(name, std::make_shared<OnnxTensor>(*std::move(tensor)))
          .second) {
    return absl::OkStatus();
  }
  return absl::DataLossError(
      absl::StrCat("two tensors are called \"", name, "\""));
}

absl::Status GraphReader::AddNode(int index) {
  const onnx::NodeProto& node = graph_->node(index);
  for (const std::string& output : node.output()) {
    if (output.empty()) continue;
    if (!writers_.emplace(output, index).second ||
        constants_.count(output) > 0) {
      return absl::DataLossError(
          absl::StrCat("two values are called \"", output, "\""));
    }
  }
  if (node.output_size() > 0 && node.op_type() == "Constant") {
    const onnx::AttributeProto* const value = Find(node, "value");
    return value == nullptr ? absl::OkStatus()
                            : AddConstant(node.output(0), value->t());
  }
  std::shared_ptr<const OnnxTensor> from;
  if (node.input_size() == 1 && node.output_size() == 1 &&
      IsConstant(node.input(0))) {
    from = constants_.at(node.input(0));
  }
  if (from != nullptr && node.op_type() == "Identity") {
    names_[node.output(0)] = NameOf(node.input(0));
    constants_[node.output(0)] = from;
    return absl::OkStatus();
  }
  const std::vector<int64_t> perm = IntegersAttribute(node, "perm");
  if (from != nullptr && node.op_type() == "Transpose" &&
      from->shape.size() == 2 && !from->floats.empty() &&
      (perm.empty() || perm == std::vector<int64_t>{1, 0})) {
    num_transposed_ += static_cast<int64_t>(from->floats.size());
    if (num_transposed_ > num_floats_) {
      return absl::UnimplementedError(
          "the graph transposes its constants more than once");
    }
    names_[node.output(0)] = NameOf(node.input(0));
    constants_[node.output(0)] =
        std::make_shared<OnnxTensor>(Transposed(*from));
    return absl::OkStatus();
  }
  for (const std::string& input : node.input()) {
    readers_[input].push_back(index);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> GraphReader::Input() const {
  std::vector<std::string> inputs;
  for (const onnx::ValueInfoProto& input : graph_->input()) {
    // Old files list the initializers among the inputs.
    if (!IsConstant(input.name())) inputs.push_back(input.name());
  }
  if (inputs.size() == 1) return inputs[0];
  return absl::UnimplementedError(
      absl::StrCat("the network has ", inputs.size(),
                   " inputs; a network of model.layers has one"));
}

bool GraphReader::IsOutput(const std::string& value) const {
  for (const onnx::ValueInfoProto& output : graph_->output()) {
    if (output.name() == value) return true;
  }
  return false;
}

const std::vector<int>& GraphReader::Readers(const std::string& value) const {
  static const auto* const none = new std::vector<int>;
  const auto found = readers_.find(value);
  return found == readers_.end() ? *none : found->second;
}

const onnx::NodeProto* GraphReader::Writer(const std::string& value) const {
  const auto found = writers_.find(value);
  return found == writers_.end() ? nullptr : &graph_->node(found->second);
}

const OnnxTensor* GraphReader::Constant(const std::string& value) const {
  const auto found = constants_.find(value);
  return found == constants_.end() ? nullptr : found->second.get();
}

std::string GraphReader::NameOf(const std::string& value) const {
  const auto found = names_.find(value);
  return found == names_.end() ? value : found->second;
}

int64_t IntegerAttribute(const onnx::NodeProto& node, const char* name,
                         int64_t otherwise) {
  const onnx::AttributeProto* const attribute = Find(node, name);
  return attribute != nullptr && attribute->has_i() ? attribute->i()
                                                    : otherwise;
}

double FloatAttribute(const onnx::NodeProto& node, const char* name,
                      double otherwise) {
  const onnx::AttributeProto* const attribute = Find(node, name);
  return attribute != nullptr && attribute->has_f() ? attribute->f()
                                                    : otherwise;
}

std::vector<int64_t> IntegersAttribute(const onnx::NodeProto& node,
                                       const char* name) {
  const onnx::AttributeProto* const attribute = Find(node, name);
  if (attribute == nullptr) return {};
  return std::vector<int64_t>(attribute->ints().begin(),
                              attribute->ints().end());
}

std::string StringAttribute(const onnx::NodeProto& node, const char* name,
                            const char* otherwise) {
  const onnx::AttributeProto* const attribute = Find(node, name);
  return attribute != nullptr && attribute->has_s() ? attribute->s()
                                                    : otherwise;
}

}  // namespace ps
