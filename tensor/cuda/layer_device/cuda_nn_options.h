// The device that the layers run on, and how they use it.
#ifndef TENSOR_CUDA_LAYER_DEVICE_CUDA_NN_OPTIONS_H_
#define TENSOR_CUDA_LAYER_DEVICE_CUDA_NN_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "tensor/precision.h"

namespace ps {

struct CudaNnOptions {
  int device_ordinal = 0;
  // A cudaStream_t of that device, which must outlive everything made with it;
  // null: the default stream. All work runs in its order.
  void* stream = nullptr;
  // Whether results must have the same bits from run to run, on the same kind
  // of device and with the same versions of its libraries. If not, cuBLAS may
  // use atomic additions, and cuDNN algorithms that do; cuDNN's are tried when
  // a layer is planned, and the fastest is used.
  bool deterministic = true;
  Precision precision = Precision::kFp32;
  // Whether convolutions use cuDNN, which must be installed then. If not, they
  // are products of cuBLAS, as are the passes for which cuDNN has no algorithm;
  // for tests of these.
  bool use_cudnn = true;
  // Whether recurrent layers must use cuDNN. They then may have other bits from
  // run to run, even if `deterministic`.
  bool cudnn_recurrent = false;
  // Allocates size_bytes of device memory, at least 1, aligned to 256 bytes;
  // null: cudaMalloc. Freed memory may be reused at once, since all work on it
  // is in the stream's order.
  std::function<absl::StatusOr<std::shared_ptr<void>>(int64_t size_bytes)>
      allocate;
};

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_CUDA_NN_OPTIONS_H_
