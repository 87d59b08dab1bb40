// Sums of a matrix's rows on the device, which give the gradient of a bias.
#ifndef TENSOR_CUDA_NN_ROW_SUMS_H_
#define TENSOR_CUDA_NN_ROW_SUMS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/layer_device/layer_device.h"

namespace ps {

// A row-major matrix [rows, columns] without gaps.
struct RowMatrix {
  Storage storage = Storage::kFloat;
  int64_t rows = 0;
  int64_t columns = 0;
};

// sums[c] = matrix[0, c] + ... + matrix[rows - 1, c], in a fixed order and in
// double. Uses RowSumsScratchBytes of the device's scratch.
absl::Status SumRows(LayerDevice* device, const RowMatrix& shape,
                     const void* matrix, float* sums);
int64_t RowSumsScratchBytes(int64_t rows, int64_t columns);

// matrix[r, c] += bias[c].
absl::Status AddToRows(LayerDevice* device, const RowMatrix& shape,
                       const float* bias, void* matrix);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_ROW_SUMS_H_
