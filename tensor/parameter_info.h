// A tensor of weights, as part of the flat vector of all of them.
#ifndef TENSOR_PARAMETER_INFO_H_
#define TENSOR_PARAMETER_INFO_H_

#include <cstdint>
#include <string>

#include "tensor/tensor.h"

namespace ps {

// One tensor of weights. All tensors lie one after the other in a flat vector,
// in the order of the forward pass.
struct ParameterInfo {
  std::string name;    // As in PyTorch's model of the same architecture.
  Shape shape;         // PyTorch's layout.
  int64_t offset = 0;  // In the flat vector, in elements.
};

}  // namespace ps

#endif  // TENSOR_PARAMETER_INFO_H_
