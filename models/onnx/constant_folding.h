// Computes the nodes of an ONNX graph whose inputs are constants. Exporters
// leave them around recurrent weights, states and shapes.
#ifndef MODELS_ONNX_CONSTANT_FOLDING_H_
#define MODELS_ONNX_CONSTANT_FOLDING_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "models/onnx/tensor.h"
#include "proto/onnx.pb.h"

namespace ps {

// Returns the outputs of a Cast, Concat, ConstantOfShape, Expand, Gather,
// Reshape, Shape, Slice, Split, Squeeze, Transpose or Unsqueeze. Returns
// nothing for other operators, for tensors of other types than float32 and
// int64, for inputs that do not fit each other, and if the outputs had more
// than `most` elements (*too_large becomes true). `inputs` has one tensor for
// each input of the node; null where its name is empty.
std::optional<std::vector<OnnxTensor>> FoldNode(
    const onnx::NodeProto& node, absl::Span<const OnnxTensor* const> inputs,
    int64_t most, bool* too_large);

}  // namespace ps

#endif  // MODELS_ONNX_CONSTANT_FOLDING_H_
