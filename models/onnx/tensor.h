// Reads tensors of an ONNX file.
#ifndef MODELS_ONNX_TENSOR_H_
#define MODELS_ONNX_TENSOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/onnx.pb.h"

namespace ps {

struct OnnxTensor {
  std::vector<int64_t> shape;
  std::vector<float> floats;      // The values of a float32 tensor.
  std::vector<int64_t> integers;  // The values of an int64 tensor.
};

// Returns the product of the dimensions; -1 if one of them is negative, if
// there are more than eight, or if the product of those that are not 0 exceeds
// 2^31.
int64_t CheckedSize(const std::vector<int64_t>& shape);

// Returns the transposed matrix.
OnnxTensor Transposed(const OnnxTensor& matrix);

// Reads the file of this name in the model's folder.
using ReadBeside =
    std::function<absl::StatusOr<std::string>(const std::string& name)>;

// Reads tensors of a model, whose values may lie in other files. Not
// thread-safe.
class TensorReader {
 public:
  // `read_beside` may be null: values in other files are then refused.
  explicit TensorReader(ReadBeside read_beside)
      : read_beside_(std::move(read_beside)) {}

  // Reads a tensor. One of another type than float32 or int64 gets no values.
  // Errors: kDataLoss for values that are not as many as the shape needs, for a
  // file whose name is a path, and for tensors that take more of the files than
  // they have; those of read_beside.
  absl::StatusOr<OnnxTensor> Read(const onnx::TensorProto& proto);

 private:
  // Returns the values of a tensor in another file.
  absl::StatusOr<absl::string_view> External(const onnx::TensorProto& proto);

  const ReadBeside read_beside_;
  std::map<std::string, std::string> files_;  // The files by name.
  // The number of unread bytes of all files.
  int64_t unread_bytes_ = 0;
};

}  // namespace ps

#endif  // MODELS_ONNX_TENSOR_H_
