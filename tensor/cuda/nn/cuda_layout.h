// The layouts of activations in the memory of a CUDA device: plain row-major
// floats; or bfloat16, with images in channels-last order and everything else
// in row-major order. Two bfloat16 take the space of one float; if their number
// is odd, a gap follows the last one.
#ifndef TENSOR_CUDA_NN_CUDA_LAYOUT_H_
#define TENSOR_CUDA_NN_CUDA_LAYOUT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/nn_kernels.h"

namespace ps {

ActivationDesc CudaActivation(Storage storage, Shape shape);

// Returns the type in which the activation is stored. Errors: kInvalidArgument,
// starting with `what`, for a shape that is empty, or a layout of another
// backend.
absl::StatusOr<Storage> CheckCudaActivation(absl::string_view what,
                                            const ActivationDesc& activation);

// As CheckCudaActivation, and also an error if the activation is not [batch,
// channels, height, width].
absl::StatusOr<Storage> CheckCudaImages(absl::string_view what,
                                        const ActivationDesc& activation);

// As CheckCudaActivation, and also an error if the activation is not [steps,
// batch, features].
absl::StatusOr<Storage> CheckCudaSequence(absl::string_view what,
                                          const ActivationDesc& activation);

// The memory of an activation as an array of its elements.
template <typename T>
const T* Elements(const float* memory) {
  return reinterpret_cast<const T*>(memory);
}
template <typename T>
T* Elements(float* memory) {
  return reinterpret_cast<T*>(memory);
}

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CUDA_LAYOUT_H_
