// Which device the layers run on, and how.
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
  // A cudaStream_t of that device, which outlives whatever is made with it;
  // null: the default stream. Everything runs in its order.
  void* stream = nullptr;
  // The same bits from run to run, on the same kind of device and with the same
  // versions of its libraries. Otherwise cuBLAS may add by atomics,
  // cuBLASLt parts of a sum in the order they are done, and cuDNN take
  // algorithms that do either.
  bool deterministic = true;
  Precision precision = Precision::kFp32;
  // Convolutions by cuDNN where it is installed; else, and without, by products
  // of cuBLAS.
  bool use_cudnn = true;
  // Linear layers' biases by cuBLASLt, together with the products, where it is
  // installed and can; else by kernels.
  bool use_cublas_lt = true;
  // So many bytes of the device's memory, at least 1, aligned to 256 bytes;
  // null: cudaMalloc's. What is freed may be given out again at once: all work
  // on it is in the stream's order.
  std::function<absl::StatusOr<std::shared_ptr<void>>(int64_t size_bytes)>
      allocate;
};

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_CUDA_NN_OPTIONS_H_
