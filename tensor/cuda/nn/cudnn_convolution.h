// Convolutions by cuDNN: of plain images; or of bfloat16 images with the
// channels last, if the device computes with bfloat16. cuDNN accumulates in
// floats either way, but rounds the gradient of bfloat16 weights to bfloat16.
#ifndef TENSOR_CUDA_NN_CUDNN_CONVOLUTION_H_
#define TENSOR_CUDA_NN_CUDNN_CONVOLUTION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/cuda/libraries/cudnn_functions.h"
#include "tensor/cuda/nn/convolution_passes.h"

namespace ps {

// Picks an algorithm for each pass, the one that cuDNN's heuristics expect to
// be fastest, or where bits may vary the one that cuDNN measures to be. Runs it
// once on zeros, takes the next where it fails, and reserves the device's
// scratch for it. A pass without an algorithm that meets the device's options
// is logged, and the result does not compute it. `device` outlives the result.
// Errors: CudnnToStatus; kUnimplemented for an array that is too large for
// cuDNN.
absl::StatusOr<std::unique_ptr<ConvolutionPasses>> PlanCudnnConvolution(
    LayerDevice* device, std::shared_ptr<CudnnHandle> handle,
    const ConvolutionGeometry& geometry);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CUDNN_CONVOLUTION_H_
