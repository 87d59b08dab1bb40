// Linear layers on CUDA.
#ifndef TENSOR_CUDA_NN_CUDA_LINEAR_H_
#define TENSOR_CUDA_NN_CUDA_LINEAR_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/nn_kernels.h"
#include "tensor/tensor.h"

namespace ps {

// A linear layer from [rows, in] to `output`, which has `rows` rows; all
// extents are at least 1.
struct LinearRows {
  int64_t rows = 0;
  int64_t in = 0;
  Storage input = Storage::kFloat;
  Shape output;
};
absl::StatusOr<std::unique_ptr<AffineOp>> PlanCudaLinearRows(
    LayerDevice* device, const LinearRows& rows);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CUDA_LINEAR_H_
