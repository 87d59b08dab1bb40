// LSTM and GRU by cuDNN, one layer at a time.
#ifndef TENSOR_CUDA_SEQUENCES_CUDNN_RECURRENT_H_
#define TENSOR_CUDA_SEQUENCES_CUDNN_RECURRENT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/cuda/libraries/cudnn_functions.h"
#include "tensor/sequence_kernels.h"

namespace ps {

// See SequenceKernels::PlanRecurrent; shape and input are valid. cuDNN's
// equations are those of RecurrentShape. It keeps weights, their gradients, and
// the state from one Forward to the next in the device's storage(): with
// bfloat16 all of them are rounded. cuDNN gives no guarantee that the bits are
// the same from run to run. `device` outlives the result. Errors:
// CudnnToStatus; kUnimplemented for what this version of cuDNN does not
// support.
absl::StatusOr<std::unique_ptr<RecurrentOp>> PlanCudnnRecurrent(
    LayerDevice* device, std::shared_ptr<CudnnHandle> handle,
    const RecurrentShape& shape, const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CUDA_SEQUENCES_CUDNN_RECURRENT_H_
