// Converts the order of gates in the weights of LSTM and GRU layers: PyTorch
// has i, f, g, o and r, z, n; ONNX has i, o, f, c (which is g) and z, r, h
// (which is n).
#ifndef MODELS_ONNX_RECURRENT_WEIGHTS_H_
#define MODELS_ONNX_RECURRENT_WEIGHTS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace ps {

// Convert values: blocks of equal size for each gate, [gates x hidden, any].
std::vector<float> ToOnnxGates(absl::Span<const float> values, bool lstm);
std::vector<float> FromOnnxGates(absl::Span<const float> values, bool lstm);

}  // namespace ps

#endif  // MODELS_ONNX_RECURRENT_WEIGHTS_H_
