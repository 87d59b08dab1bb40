// A convolution without its bias as products of matrices, of bfloat16 images
// with their channels last, on any LayerDevice.
#ifndef TENSOR_CUDA_NN_LAST_CHANNEL_CONVOLUTION_H_
#define TENSOR_CUDA_NN_LAST_CHANNEL_CONVOLUTION_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/convolution_geometry.h"
#include "tensor/cuda/layer_device/layer_device.h"

namespace ps {

// `device` outlives the result. max_row_bytes: of the rows that are there at a
// time (last_channel_convolution_cores.h), as floats; at least one image's are.
// A kernel of one pixel with stride 1 needs none: the images are the rows.
absl::StatusOr<std::unique_ptr<LibraryConvolution>> PlanLastChannelConvolution(
    LayerDevice* device, const ConvolutionGeometry& geometry,
    int64_t max_row_bytes);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_LAST_CHANNEL_CONVOLUTION_H_
