// How activations lie in the memory of a CUDA device: as plain row-major
// floats, or as bfloat16, images with their channels last and everything else
// in row-major order. Two bfloat16 take the room of a float, and the last one
// is followed by a gap if their number is odd.
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

// What the activation is stored as. Errors: kInvalidArgument, starting with
// `what`, for a shape that holds nothing, or a layout of another backend.
absl::StatusOr<Storage> CheckCudaActivation(absl::string_view what,
                                            const ActivationDesc& activation);

// Also errors: an activation that is not [batch, channels, height, width].
absl::StatusOr<Storage> CheckCudaImages(absl::string_view what,
                                        const ActivationDesc& activation);

// Also errors: an activation that is not [steps, batch, features].
absl::StatusOr<Storage> CheckCudaSequence(absl::string_view what,
                                          const ActivationDesc& activation);

// An image's array as [planes, height, width, inner] (pooling_cores.h).
inline int64_t InnerExtent(Storage storage, const Shape& images) {
  return storage == Storage::kBfloat16 ? images[1] : 1;
}

// The elements of an activation's memory.
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
