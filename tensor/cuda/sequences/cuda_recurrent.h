// LSTM and GRU on CUDA, computed by the device's library (cuDNN) if it is asked
// to, else by products, and one kernel for the cells of a step.
#ifndef TENSOR_CUDA_SEQUENCES_CUDA_RECURRENT_H_
#define TENSOR_CUDA_SEQUENCES_CUDA_RECURRENT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/sequence_kernels.h"

namespace ps {

// See SequenceKernels::PlanRecurrent. `device` outlives the operation.
// cell_time() is zero, since the host could only measure the time of the cells
// by waiting for each step.
absl::StatusOr<std::unique_ptr<RecurrentOp>> PlanCudaRecurrent(
    LayerDevice* device, const RecurrentShape& shape,
    const ActivationDesc& input);

}  // namespace ps

#endif  // TENSOR_CUDA_SEQUENCES_CUDA_RECURRENT_H_
