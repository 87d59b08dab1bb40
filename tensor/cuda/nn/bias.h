// The bias of linear layers and convolutions, and the activation function that
// may follow.
#ifndef TENSOR_CUDA_NN_BIAS_H_
#define TENSOR_CUDA_NN_BIAS_H_

#include <utility>

#include "absl/status/status.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/layer_device/channel_geometry.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/nn_kernels.h"
#include "tensor/tensor.h"

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

// An operation whose output may have a bias, of the device's storage(). One
// pass over the output adds the bias and applies the activation function, and
// another takes the function's gradient and sums up that of the bias.
class BiasedOp : public AffineOp {
 public:
  const ActivationDesc& output() const final { return output_; }
  // Without a bias, it would be a pass of its own.
  bool FuseActivation(Activation function) final {
    if (has_bias_) function_ = KindOf(function);
    return has_bias_;
  }
  absl::Status BackwardActivation(const float* y, float* dy,
                                  float* dbias) final;

 protected:
  BiasedOp(LayerDevice* device, Shape output, const ChannelGeometry& geometry,
           bool has_bias)
      : device_(device),
        output_(CudaActivation(device->storage(), std::move(output))),
        geometry_(geometry),
        has_bias_(has_bias) {}

  LayerDevice* device() const { return device_; }
  // For planning.
  absl::Status ReserveBiasScratch();
  // The last step of Forward: y is the output without its bias.
  absl::Status FinishOutput(const float* bias, float* y);
  // Overwrites dbias, unless BackwardActivation has done so.
  absl::Status SumOutputGradient(const float* dy, float* dbias);

 private:
  LayerDevice* const device_;  // Not owned.
  const ActivationDesc output_;
  const ChannelGeometry geometry_;
  const bool has_bias_;
  ActivationKind function_ = ActivationKind::kNone;
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_BIAS_H_
