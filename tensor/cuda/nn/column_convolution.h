// A convolution without its bias as products of matrices, on any LayerDevice.
#ifndef TENSOR_CUDA_NN_COLUMN_CONVOLUTION_H_
#define TENSOR_CUDA_NN_COLUMN_CONVOLUTION_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/convolution_geometry.h"
#include "tensor/cuda/layer_device/layer_device.h"

namespace ps {

// `device` outlives the result. max_column_bytes: of the columns that are there
// at a time (convolution_cores.h); at least one image's are.
absl::StatusOr<std::unique_ptr<LibraryConvolution>> PlanColumnConvolution(
    LayerDevice* device, const ConvolutionGeometry& geometry,
    int64_t max_column_bytes);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_COLUMN_CONVOLUTION_H_
