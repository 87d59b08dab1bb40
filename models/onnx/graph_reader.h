// Checks and indexes an ONNX graph for reading.
#ifndef MODELS_ONNX_GRAPH_READER_H_
#define MODELS_ONNX_GRAPH_READER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "models/onnx/tensor.h"
#include "proto/onnx.pb.h"

namespace ps {

// Reads a graph, which must outlive it.
class GraphReader {
 public:
  // Indexes a graph. Errors: those of TensorReader; kDataLoss for a repeated
  // name.
  static absl::StatusOr<GraphReader> Create(const onnx::GraphProto& graph,
                                            const ReadBeside& read_beside);

  GraphReader(GraphReader&&) = default;
  GraphReader& operator=(GraphReader&&) = default;

  const onnx::NodeProto& node(int index) const { return graph_->node(index); }

  // The number of floats in all constants.
  int64_t num_floats() const { return num_floats_; }

  // Returns the input that is not a constant. Errors: kUnimplemented unless
  // there is one.
  absl::StatusOr<std::string> Input() const;
  bool IsOutput(const std::string& value) const;

  // Returns the nodes that read a value, in order; a node that reads it twice
  // counts twice.
  const std::vector<int>& Readers(const std::string& value) const;
  // Returns the node that computes a value; null for inputs and constants.
  const onnx::NodeProto* Writer(const std::string& value) const;

  // Returns a constant: an initializer, the output of a Constant, or the result
  // of FoldNode on constants. Null if it is not constant. All folded constants
  // together have at most a few times the elements of the others.
  const OnnxTensor* Constant(const std::string& value) const;
  bool IsConstant(const std::string& value) const {
    return Constant(value) != nullptr;
  }
  // Returns the initializer of a constant; otherwise the value's own name.
  std::string NameOf(const std::string& value) const;
  // Whether a value is not constant only because it would be too large.
  bool IsTooLarge(const std::string& value) const {
    return too_large_.count(value) > 0;
  }

 private:
  explicit GraphReader(const onnx::GraphProto& graph) : graph_(&graph) {}

  absl::Status AddConstant(const std::string& name,
                           const onnx::TensorProto& proto,
                           TensorReader* tensors);
  void AddTensor(const std::string& name, OnnxTensor tensor);
  absl::Status AddNode(int index, TensorReader* tensors);
  // Folds the node; returns whether all its outputs are constants now.
  bool Fold(const onnx::NodeProto& node);

  const onnx::GraphProto* graph_;
  std::map<std::string, std::shared_ptr<const OnnxTensor>> constants_;
  // The names of constants; point to the key of the initializer in constants_.
  std::map<std::string, const std::string*> names_;
  std::map<std::string, std::vector<int>> readers_;
  std::map<std::string, int> writers_;
  std::set<std::string> too_large_;
  int64_t num_floats_ = 0;
  int64_t num_given_ = 0;   // The number of elements in the file.
  int64_t num_folded_ = 0;  // The number of elements computed from them.
};

}  // namespace ps

#endif  // MODELS_ONNX_GRAPH_READER_H_
