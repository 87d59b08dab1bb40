// What the layers on CUDA accept: activations in plain row-major order, the
// only layout that they make so far.
#ifndef TENSOR_CUDA_NN_PLAIN_ACTIVATION_H_
#define TENSOR_CUDA_NN_PLAIN_ACTIVATION_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tensor/nn_kernels.h"

namespace ps {

// Errors: kInvalidArgument, starting with `what`, for a shape that holds
// nothing, or a layout of another backend.
absl::Status CheckPlain(absl::string_view what,
                        const ActivationDesc& activation);

// Also errors: an activation that is not [batch, channels, height, width].
absl::Status CheckPlainImages(absl::string_view what,
                              const ActivationDesc& activation);

}  // namespace ps

#endif  // TENSOR_CUDA_NN_PLAIN_ACTIVATION_H_
