// A CUDA device as the layers use it: memory, copies, and products by cuBLAS,
// in the order of one stream. Kernels are launched by elementwise.cuh and
// channel_sums.cuh.
#ifndef TENSOR_CUDA_LAYER_DEVICE_LAYER_DEVICE_H_
#define TENSOR_CUDA_LAYER_DEVICE_LAYER_DEVICE_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/layer_device/cuda_nn_options.h"
#include "tensor/cuda/layer_device/matrix_product.h"
#include "tensor/precision.h"

namespace ps {

class CublasProducts;
class CudnnHandle;

// Used by any thread, one at a time: each method makes the device current. Work
// on the device runs in the order of the calls, and may still be running after
// the call returns, except where a method says otherwise. Errors: the device's
// error, with the name of its function or kernel; the failure of a running
// kernel shows as the error of a later call.
class LayerDevice {
 public:
  // Errors: kUnavailable if the machine has no driver or no such device, or if
  // cuBLAS is not installed.
  static absl::StatusOr<std::unique_ptr<LayerDevice>> Create(
      const CudaNnOptions& options);
  ~LayerDevice();
  LayerDevice(const LayerDevice&) = delete;
  LayerDevice& operator=(const LayerDevice&) = delete;

  const CudaNnOptions& options() const { return options_; }
  cudaStream_t stream() const { return stream_; }
  // The precision of everything planned on the device.
  Precision precision() const { return options_.precision; }
  // The type of products' factors, and so of the outputs of layers with
  // weights.
  Storage storage() const {
    return precision() == Precision::kBf16 ? Storage::kBfloat16
                                           : Storage::kFloat;
  }

  // Makes this the calling thread's device.
  absl::Status MakeCurrent() const;
  // The error of a call of the runtime.
  absl::Status ToStatus(cudaError_t error, absl::string_view call) const;
  // The error of the launch of a kernel that the thread has just made.
  absl::Status LaunchStatus(absl::string_view kernel) const;

  // Zeroed device memory, aligned to 256 bytes and freed with the last handle.
  // Only for planning. Errors: kResourceExhausted.
  absl::StatusOr<std::shared_ptr<void>> Allocate(int64_t size_bytes);
  // The same for host memory that is fastest to copy to and from the device; it
  // is not zeroed.
  absl::StatusOr<std::shared_ptr<void>> AllocateHost(int64_t size_bytes);

  // `host` comes from AllocateHost, and must not change until a CopyToHost has
  // returned.
  absl::Status CopyFromHost(const void* host, int64_t size_bytes, void* device);
  // Waits for all earlier calls and for the copy.
  absl::Status CopyToHost(const void* device, int64_t size_bytes, void* host);
  absl::Status Copy(const void* from, int64_t size_bytes, void* to);
  absl::Status Zero(int64_t size_bytes, void* data);

  absl::Status Multiply(const MatrixProduct& product);

  // Errors: those of NewCudnnHandle, for layers that need cuDNN.
  absl::StatusOr<std::shared_ptr<CudnnHandle>> Cudnn() const { return cudnn_; }

  // For planning: ensures that there are at least `size_bytes` from now on. The
  // scratch is temporary memory for one call at a time, shared by everything
  // that is planned on this device.
  absl::Status ReserveScratch(int64_t size_bytes);
  // For running: overwritten by the next call of any operation. The address may
  // change with each ReserveScratch.
  void* scratch() const { return scratch_.get(); }
  // Changes when the address of the scratch changes.
  int64_t scratch_version() const { return scratch_version_; }

  // Counts activations that operations converted to another order, for
  // NnKernels::num_reorders.
  void CountReorder() { ++num_reorders_; }
  int64_t num_reorders() const { return num_reorders_; }

 private:
  explicit LayerDevice(const CudaNnOptions& options);

  absl::Status Start();
  absl::StatusOr<std::shared_ptr<void>> AllocateOfCuda(int64_t size) const;
  absl::Status CopyAsync(const void* from, int64_t size_bytes, void* to,
                         cudaMemcpyKind kind) const;

  const CudaNnOptions options_;
  const cudaStream_t stream_;
  std::shared_ptr<void> cublas_workspace_;
  std::unique_ptr<CublasProducts> products_;
  absl::StatusOr<std::shared_ptr<CudnnHandle>> cudnn_;
  int64_t num_reorders_ = 0;
  std::shared_ptr<void> scratch_;
  int64_t scratch_bytes_ = 0;
  int64_t scratch_version_ = 0;
};

// An array on the device.
template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;

  // Zeroed. Errors: kResourceExhausted.
  static absl::StatusOr<DeviceArray> Create(LayerDevice* device, int64_t n) {
    absl::StatusOr<std::shared_ptr<void>> memory =
        device->Allocate(n * static_cast<int64_t>(sizeof(T)));
    if (!memory.ok()) return memory.status();
    DeviceArray array;
    array.memory_ = *std::move(memory);
    array.size_ = n;
    return array;
  }

  T* data() const { return static_cast<T*>(memory_.get()); }
  int64_t size() const { return size_; }
  int64_t size_bytes() const { return size_ * static_cast<int64_t>(sizeof(T)); }

 private:
  std::shared_ptr<void> memory_;
  int64_t size_ = 0;
};

// A stretch of device memory.
struct DeviceBytes {
  void* data = nullptr;
  int64_t size_bytes = 0;
};

// Appends copies of the stretches to *bytes, or as many zeros if is_zero; takes
// as many bytes as they have off the front of *bytes. Both wait for the device.
// Errors: kDataLoss if there are too few bytes.
absl::Status AppendBytes(LayerDevice* device,
                         const std::vector<DeviceBytes>& from, bool is_zero,
                         std::string* bytes);
absl::Status TakeBytes(LayerDevice* device, const std::vector<DeviceBytes>& to,
                       absl::string_view* bytes);

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_LAYER_DEVICE_H_
