// The bias of linear layers and convolutions, where no library adds it, and the
// activation function that may follow.
#ifndef TENSOR_CUDA_NN_BIAS_H_
#define TENSOR_CUDA_NN_BIAS_H_

#include "absl/status/status.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/layer_device/channel_geometry.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/nn_kernels.h"

namespace ps {

// The function of a layer's output, if there is one.
enum class ActivationKind { kNone, kRelu, kTanh, kSigmoid };

ActivationKind KindOf(Activation function);

// Adds the bias of its channel to each element of y, and applies the function.
// The columns of a matrix [rows, columns] are the channels of
// ChannelGeometry(rows, columns, 1).
absl::Status AddBias(LayerDevice* device, Storage storage,
                     const ChannelGeometry& geometry, ActivationKind function,
                     const float* bias, void* y);

// dbias[c]: the sum of channel c of dy, in a fixed order and in double. Uses
// ChannelSumsScratchBytes of the device's scratch.
absl::Status SumBias(LayerDevice* device, Storage storage,
                     const ChannelGeometry& geometry, const void* dy,
                     float* dbias);

// The same where dy is the gradient of y = function(...). Replaces dy by the
// gradient of the function's argument, whose sums are dbias.
absl::Status SumActivatedBias(LayerDevice* device, Storage storage,
                              const ChannelGeometry& geometry,
                              ActivationKind function, const void* y, void* dy,
                              float* dbias);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_BIAS_H_
