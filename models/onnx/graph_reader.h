// An ONNX graph, checked and indexed for reading.
#ifndef MODELS_ONNX_GRAPH_READER_H_
#define MODELS_ONNX_GRAPH_READER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/onnx.pb.h"

namespace ps {

struct OnnxTensor {
  std::vector<int64_t> shape;
  std::vector<float> floats;      // Of a float32 tensor.
  std::vector<int64_t> integers;  // Of an int64 tensor.
};

// Rows become columns.
OnnxTensor Transposed(const OnnxTensor& matrix);

// Refers to the graph, which must outlive it.
class GraphReader {
 public:
  // Errors: kDataLoss for a tensor whose data does not have its shape's size,
  // or two values of one name; kUnimplemented for tensors in other files, or
  // for graphs that transpose more than all tensors once.
  static absl::StatusOr<GraphReader> Create(const onnx::GraphProto& graph);

  const onnx::NodeProto& node(int index) const { return graph_->node(index); }

  // Floats in all constants.
  int64_t num_floats() const { return num_floats_; }

  // The input that is not a constant. Errors: kUnimplemented unless there is
  // one.
  absl::StatusOr<std::string> Input() const;
  bool IsOutput(const std::string& value) const;

  // The nodes that read a value, in order; a node that reads it twice counts
  // twice.
  const std::vector<int>& Readers(const std::string& value) const;
  // The node that computes a value; null for inputs and constants.
  const onnx::NodeProto* Writer(const std::string& value) const;

  // A constant: an initializer, or the output of a Constant, an Identity of
  // another constant, or a Transpose of a matrix. Null if it is not constant.
  // The name that weights have is that of the initializer.
  const OnnxTensor* Constant(const std::string& value) const;
  bool IsConstant(const std::string& value) const {
    return Constant(value) != nullptr;
  }
  // The initializer that is behind a constant; the value's own name otherwise.
  std::string NameOf(const std::string& value) const;

 private:
  explicit GraphReader(const onnx::GraphProto& graph) : graph_(&graph) {}

  absl::Status AddConstant(const std::string& name,
                           const onnx::TensorProto& tensor);
  absl::Status AddNode(int index);

  const onnx::GraphProto* graph_;
  std::map<std::string, std::shared_ptr<const OnnxTensor>> constants_;
  std::map<std::string, std::string> names_;
  std::map<std::string, std::vector<int>> readers_;
  std::map<std::string, int> writers_;
  int64_t num_floats_ = 0;
  int64_t num_transposed_ = 0;
};

// Attributes of a node, with their defaults. Values of another type count as
// missing.
int64_t IntegerAttribute(const onnx::NodeProto& node, const char* name,
                         int64_t otherwise);
double FloatAttribute(const onnx::NodeProto& node, const char* name,
                      double otherwise);
std::vector<int64_t> IntegersAttribute(const onnx::NodeProto& node,
                                       const char* name);
std::string StringAttribute(const onnx::NodeProto& node, const char* name,
                            const char* otherwise);

}  // namespace ps

#endif  // MODELS_ONNX_GRAPH_READER_H_
