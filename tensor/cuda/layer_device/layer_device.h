// What the layers' code needs of a CUDA device. There are two: the real one
// (cuda_layer_device.h), and one in the tests that runs the same kernels' cores
// on the host, so that everything above this line, and the cores themselves,
// are tested on machines without a device.
#ifndef TENSOR_CUDA_LAYER_DEVICE_LAYER_DEVICE_H_
#define TENSOR_CUDA_LAYER_DEVICE_LAYER_DEVICE_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/cuda/layer_device/all_kernels.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/layer_device/convolution_geometry.h"
#include "tensor/cuda/layer_device/fused_product.h"
#include "tensor/cuda/layer_device/matrix_product.h"
#include "tensor/precision.h"

namespace ps {

// A convolution without its bias, by a library of the device. Pointers are to
// arrays on the device, of what it was planned for: plain floats; or bfloat16,
// images as [batch, height, width, channels] and weights as [out channels,
// kernel height, kernel width, channels of a group]. The weights' gradient is
// floats in PyTorch's layout always. Each method overwrites its result, and
// uses the device's scratch.
class LibraryConvolution {
 public:
  virtual ~LibraryConvolution() = default;
  virtual absl::Status Forward(const void* x, const void* weight, void* y) = 0;
  virtual absl::Status BackwardData(const void* weight, const void* dy,
                                    void* dx) = 0;
  virtual absl::Status BackwardWeights(const void* x, const void* dy,
                                       float* dweight) = 0;
};

// One thread at a time uses it. Everything that runs on the device does so in
// the order of the calls, and after the call returns, except where a method
// says otherwise. Errors: what the device says, with the name of its function
// or kernel.
class LayerDevice {
 public:
  explicit LayerDevice(Precision precision = Precision::kFp32)
      : precision_(precision) {}
  virtual ~LayerDevice() = default;

  // Of all that is planned on it.
  Precision precision() const { return precision_; }
  // Of products' factors, and so of what layers with weights give.
  Storage storage() const {
    return precision_ == Precision::kBf16 ? Storage::kBfloat16
                                          : Storage::kFloat;
  }

  // Memory of the device, zeroed, aligned to 256 bytes, freed with the last
  // handle. Only when planning. Errors: kResourceExhausted.
  virtual absl::StatusOr<std::shared_ptr<void>> Allocate(
      int64_t size_bytes) = 0;
  // The same of host memory that copies to and from the device like best.
  virtual absl::StatusOr<std::shared_ptr<void>> AllocateHost(
      int64_t size_bytes) = 0;

  // `host` is from AllocateHost, and stays as it is until a CopyToHost has
  // returned.
  virtual absl::Status CopyFromHost(const void* host, int64_t size_bytes,
                                    void* device) = 0;
  // Waits for all that was called before, and for the copy.
  virtual absl::Status CopyToHost(const void* device, int64_t size_bytes,
                                  void* host) = 0;
  virtual absl::Status Copy(const void* from, int64_t size_bytes, void* to) = 0;
  virtual absl::Status Zero(int64_t size_bytes, void* data) = 0;

  virtual absl::Status Multiply(const MatrixProduct& product) = 0;
  // The same with an epilogue, of a product that does not accumulate; its
  // pointers are not looked at. Null where no library does it: then the layer
  // takes Multiply and kernels of its own. This device outlives the result.
  virtual absl::StatusOr<std::unique_ptr<FusedProduct>> PlanFusedProduct(
      const MatrixProduct& product, Epilogue epilogue) = 0;

  // Writes the keys to `sorted` in ascending order of all their 64 bits. Uses
  // the scratch, of which it needs SortScratchBytes(n).
  virtual absl::Status Sort(const uint64_t* keys, int64_t n,
                            uint64_t* sorted) = 0;
  virtual absl::StatusOr<int64_t> SortScratchBytes(int64_t n) = 0;

  // Of arrays as storage() says. Null where no library does such convolutions:
  // then the layer does them itself.
  virtual absl::StatusOr<std::unique_ptr<LibraryConvolution>> PlanConvolution(
      const ConvolutionGeometry& geometry) = 0;

  // Calls the core for each of `count` elements, or blocks (kernel_core.h).
  template <typename Core>
  absl::Status Run(const Core& core, int64_t count) {
    if (count < 1) return absl::OkStatus();
    return Launch({AllKernels::IndexOf<Core>(), Core::kName, &core, count});
  }

  // Memory for the inside of one call at a time, shared by everything that is
  // planned on this device. When planning: from now on there is so much.
  absl::Status ReserveScratch(int64_t size_bytes);
  // When running: overwritten by the next call of any operation. Another
  // address after a ReserveScratch.
  void* scratch() const { return scratch_.get(); }
  // Another number when the scratch has another address.
  int64_t scratch_version() const { return scratch_version_; }

  // Activations that operations brought into another order, for
  // NnKernels::num_reorders.
  void CountReorder() { ++num_reorders_; }
  int64_t num_reorders() const { return num_reorders_; }

 protected:
  struct KernelCall {
    int kernel;        // Its place in AllKernels.
    const char* name;  // For errors.
    const void* core;  // Copied before Launch returns.
    int64_t count;     // At least 1.
  };
  virtual absl::Status Launch(const KernelCall& call) = 0;

 private:
  const Precision precision_;
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

}  // namespace ps

#endif  // TENSOR_CUDA_LAYER_DEVICE_LAYER_DEVICE_H_
