#include "models/onnx/graph_reader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/onnx/attributes.h"
#include "models/onnx/constant_folding.h"

namespace ps {
namespace {

// The most copies. Exporters cut weights into gates and join them in another
// order. More copies than these are an attack on memory.
constexpr int64_t kMostCopies = 4;
constexpr int64_t kFewElements = 1 << 20;

int64_t NumValues(const OnnxTensor& tensor) {
  return static_cast<int64_t>(tensor.floats.size() + tensor.integers.size());
}

}  // namespace

absl::StatusOr<GraphReader> GraphReader::Create(const onnx::GraphProto& graph,
                                                const ReadBeside& read_beside) {
  GraphReader reader(graph);
  TensorReader tensors(read_beside);
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    PS_RETURN_IF_ERROR(reader.AddConstant(tensor.name(), tensor, &tensors));
  }
  for (int i = 0; i < graph.node_size(); ++i) {
    PS_RETURN_IF_ERROR(reader.AddNode(i, &tensors));
  }
  return reader;
}

absl::Status GraphReader::AddConstant(const std::string& name,
                                      const onnx::TensorProto& proto,
                                      TensorReader* tensors) {
  absl::StatusOr<OnnxTensor> tensor = tensors->Read(proto);
  PS_RETURN_IF_ERROR(
      Annotate(tensor.status(), absl::StrCat("tensor \"", name, "\"")));
  if (IsConstant(name)) {
    return absl::DataLossError(
        absl::StrCat("two tensors are called \"", name, "\""));
  }
  AddTensor(name, *std::move(tensor));
  return absl::OkStatus();
}

void GraphReader::AddTensor(const std::string& name, OnnxTensor tensor) {
  num_floats_ += static_cast<int64_t>(tensor.floats.size());
  num_given_ += NumValues(tensor);
  const auto added =
      constants_.emplace(name, std::make_shared<OnnxTensor>(std::move(tensor)));
  names_[name] = &added.first->first;
}

absl::Status GraphReader::AddNode(int index, TensorReader* tensors) {
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
    if (const auto* const value = FindAttribute(node, "value")) {
      return AddConstant(node.output(0), value->t(), tensors);
    }
    OnnxTensor tensor;
    if (const auto* const one = FindAttribute(node, "value_int")) {
      tensor.integers = {one->i()};
    } else if (const auto* const list = FindAttribute(node, "value_ints")) {
      tensor.integers.assign(list->ints().begin(), list->ints().end());
      tensor.shape = {list->ints_size()};
    } else if (const auto* const real = FindAttribute(node, "value_float")) {
      tensor.floats = {real->f()};
    } else {
      return absl::OkStatus();
    }
    AddTensor(node.output(0), std::move(tensor));
    return absl::OkStatus();
  }
  if (Fold(node)) return absl::OkStatus();
  for (const std::string& input : node.input()) {
    if (!input.empty()) readers_[input].push_back(index);
  }
  return absl::OkStatus();
}

bool GraphReader::Fold(const onnx::NodeProto& node) {
  if (node.input().empty() || node.output().empty()) return false;
  std::vector<const OnnxTensor*> inputs;
  for (const std::string& input : node.input()) {
    inputs.push_back(Constant(input));
    if (inputs.back() == nullptr && !input.empty()) return false;
  }
  if (node.op_type() == "Identity" && inputs[0] != nullptr) {
    names_[node.output(0)] = names_.at(node.input(0));
    constants_[node.output(0)] = constants_.at(node.input(0));
    return true;
  }
  bool too_large = false;
  std::optional<std::vector<OnnxTensor>> outputs = FoldNode(
      node, inputs, kMostCopies * num_given_ + kFewElements - num_folded_,
      &too_large);
  if (!outputs.has_value()) {
    if (too_large)
      too_large_.insert(node.output().begin(), node.output().end());
    return false;
  }
  for (int i = 0; i < node.output_size(); ++i) {
    OnnxTensor& tensor = (*outputs)[i];
    num_folded_ += NumValues(tensor);
    names_[node.output(i)] = names_.at(node.input(0));
    constants_[node.output(i)] =
        std::make_shared<OnnxTensor>(std::move(tensor));
  }
  return true;
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
  return found == names_.end() ? value : *found->second;
}

}  // namespace ps
