// Builds an ONNX graph: nodes with one output each, and constants.
#ifndef MODELS_ONNX_GRAPH_WRITER_H_
#define MODELS_ONNX_GRAPH_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/onnx.pb.h"

namespace ps {

// Sets the attributes of a node.
class OnnxNode {
 public:
  explicit OnnxNode(onnx::NodeProto* node) : node_(node) {}

  // Returns the name of the node's output.
  const std::string& output() const { return node_->output(0); }

  OnnxNode& Set(const char* name, int64_t value);
  OnnxNode& Set(const char* name, const std::vector<int64_t>& values);
  OnnxNode& SetFloat(const char* name, float value);

 private:
  onnx::AttributeProto& Add(const char* name,
                            onnx::AttributeProto::AttributeType type);

  onnx::NodeProto* const node_;  // Not owned.
};

// Builds a graph. Not thread-safe.
class GraphWriter {
 public:
  explicit GraphWriter(onnx::GraphProto* graph) : graph_(graph) {}

  // Adds a node. Empty inputs are omitted ones. Its name is `name`, or a number
  // if that is empty.
  OnnxNode Add(const std::string& op, const std::vector<std::string>& inputs,
               const std::string& name = "");

  // Add constants, and return their names. A second constant with the same name
  // is the first one.
  std::string Floats(const std::string& name, const std::vector<int64_t>& dims,
                     absl::Span<const float> values);
  std::string Integers(const std::vector<int64_t>& values);
  std::string Integer(int64_t value);  // A constant without dimensions.
  std::string Scalar(float value);

 private:
  onnx::GraphProto* const graph_;  // Not owned.
  int num_constants_ = 0;
};

}  // namespace ps

#endif  // MODELS_ONNX_GRAPH_WRITER_H_
