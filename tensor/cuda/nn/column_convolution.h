// A convolution without its bias, computed as matrix products on any
// LayerDevice.
#ifndef TENSOR_CUDA_NN_COLUMN_CONVOLUTION_H_
#define TENSOR_CUDA_NN_COLUMN_CONVOLUTION_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/convolution_geometry.h"
#include "tensor/cuda/layer_device/layer_device.h"

namespace ps {

// `device` outlives the result. max_column_bytes: limit on the columns in
// memory at a time (convolution_cores.h); columns of at least one image are
// always used.
absl::StatusOr<std::unique_ptr<LibraryConvolution>> PlanColumnConvolution(
    LayerDevice* device, const ConvolutionGeometry& geometry,
    int64_t max_column_bytes);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_COLUMN_CONVOLUTION_H_
