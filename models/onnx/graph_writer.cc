#include "models/onnx/graph_writer.h"

#include "absl/strings/str_cat.h"

namespace ps {
namespace {

// ONNX's raw_data is little-endian, as are the machines that this runs on.
template <typename T>
void SetRaw(absl::Span<const T> values, onnx::TensorProto* tensor) {
  tensor->set_raw_data(reinterpret_cast<const char*>(values.data()),
                       values.size() * sizeof(T));
}

}  // namespace

onnx::AttributeProto& OnnxNode::Add(const char* name,
                                    onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *node_->add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

OnnxNode& OnnxNode::Set(const char* name, int64_t value) {
  Add(name, onnx::AttributeProto::INT).set_i(value);
  return *this;
}

OnnxNode& OnnxNode::Set(const char* name, const std::vector<int64_t>& values) {
  onnx::AttributeProto& attribute = Add(name, onnx::AttributeProto::INTS);
  for (const int64_t value : values) attribute.add_ints(value);
  return *this;
}

OnnxNode& OnnxNode::SetFloat(const char* name, float value) {
  Add(name, onnx::AttributeProto::FLOAT).set_f(value);
  return *this;
}

OnnxNode GraphWriter::Add(const std::string& op,
                          const std::vector<std::string>& inputs,
                          const std::string& name) {
  const int number = graph_->node_size();
  onnx::NodeProto& node = *graph_->add_node();
  node.set_op_type(op);
  node.set_name(name.empty() ? absl::StrCat(op, "_", number) : name);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(absl::StrCat("value_", number));
  return OnnxNode(&node);
}

std::string GraphWriter::Floats(const std::string& name,
                                const std::vector<int64_t>& dims,
                                absl::Span<const float> values) {
  for (const onnx::TensorProto& known : graph_->initializer()) {
    if (known.name() == name) return name;
  }
  onnx::TensorProto& tensor = *graph_->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  SetRaw(values, &tensor);
  return name;
}

std::string GraphWriter::Integers(const std::vector<int64_t>& values) {
  onnx::TensorProto& tensor = *graph_->add_initializer();
  tensor.set_name(absl::StrCat("constant_", num_constants_++));
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  SetRaw(absl::MakeConstSpan(values), &tensor);
  return tensor.name();
}

std::string GraphWriter::Integer(int64_t value) {
  const std::string name = Integers({value});
  graph_->mutable_initializer()->rbegin()->clear_dims();
  return name;
}

std::string GraphWriter::Scalar(float value) {
  return Floats(absl::StrCat("constant_", num_constants_++), {},
                absl::MakeConstSpan(&value, 1));
}

}  // namespace ps
