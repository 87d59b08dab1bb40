// Sums of a matrix's rows on the device: a bias's gradient.
#ifndef TENSOR_CUDA_NN_ROW_SUMS_H_
#define TENSOR_CUDA_NN_ROW_SUMS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "tensor/cuda/layer_device/layer_device.h"

namespace ps {

// sums[c] = matrix[0, c] + ... + matrix[rows - 1, c], in a fixed order and in
// double. Uses the device's scratch, of which it needs RowSumsScratchBytes.
absl::Status SumRows(LayerDevice* device, const float* matrix, int64_t rows,
                     int64_t columns, float* sums);
int64_t RowSumsScratchBytes(int64_t rows, int64_t columns);

// matrix[r, c] += bias[c].
absl::Status AddToRows(LayerDevice* device, const float* bias, int64_t rows,
                       int64_t columns, float* matrix);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_ROW_SUMS_H_
