// A convolution without its bias, computed as matrix products on any
// LayerDevice, for bfloat16 images with their channels last.
#ifndef TENSOR_CUDA_NN_LAST_CHANNEL_CONVOLUTION_H_
#define TENSOR_CUDA_NN_LAST_CHANNEL_CONVOLUTION_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/convolution_geometry.h"
#include "tensor/cuda/layer_device/layer_device.h"

namespace ps {

// `device` outlives the result. max_row_bytes: limit on the rows in memory at a
// time (last_channel_convolution_cores.h), as floats; rows of at least one
// image are always used. A kernel of one pixel with stride 1 needs no rows: the
// images are the rows.
absl::StatusOr<std::unique_ptr<LibraryConvolution>> PlanLastChannelConvolution(
    LayerDevice* device, const ConvolutionGeometry& geometry,
    int64_t max_row_bytes);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_LAST_CHANNEL_CONVOLUTION_H_
