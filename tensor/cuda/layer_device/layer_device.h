// The operations that the layers need from a CUDA device. There are two
// implementations: the real one (cuda_layer_device.h), and one in the tests
// that runs the same kernels' cores on the host, so that the layers and the
// cores can be tested on machines without a device.
#ifndef TENSOR_CUDA_LAYER_DEVICE_LAYER_DEVICE_H_
#define TENSOR_CUDA_LAYER_DEVICE_LAYER_DEVICE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tensor/cuda/layer_device/all_kernels.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/layer_device/convolution_geometry.h"
#include "tensor/cuda/layer_device/fused_product.h"
#include "tensor/cuda/layer_device/matrix_product.h"
#include "tensor/precision.h"
#include "tensor/sequence_kernels.h"

namespace ps {

enum class ConvolutionPass { kForward, kBackwardData, kBackwardWeights };

// A convolution without its bias, computed by a library of the device. Pointers
// are to arrays on the device, in the format it was planned for: either plain
// floats; or bfloat16, with images as [batch, height, width, channels] and
// weights as [out channels, kernel height, kernel width, channels of a group].
// The weights' gradient is always floats in PyTorch's layout. Each method
// overwrites its result, and uses the device's scratch.
class LibraryConvolution {
 public:
  virtual ~LibraryConvolution() = default;
  // Whether the library supports this pass; the others may be called.
  virtual bool Computes(ConvolutionPass) const { return true; }
  virtual absl::Status Forward(const void* x, const void* weight, void* y) = 0;
  virtual absl::Status BackwardData(const void* weight, const void* dy,
                                    void* dx) = 0;
  virtual absl::Status BackwardWeights(const void* x, const void* dy,
                                       float* dweight) = 0;
};

// Used by one thread at a time. Work on the device runs in the order of the
// calls, and may still be running after the call returns, except where a method
// says otherwise. Errors: the device's error, with the name of its function or
// kernel.
class LayerDevice {
 public:
  explicit LayerDevice(Precision precision = Precision::kFp32)
      : precision_(precision) {}
  virtual ~LayerDevice() = default;

  // The precision of everything planned on the device.
  Precision precision() const { return precision_; }
  // The type of products' factors, and so of the outputs of layers with
  // weights.
  Storage storage() const {
    return precision_ == Precision::kBf16 ? Storage::kBfloat16
                                          : Storage::kFloat;
  }

  // Zeroed device memory, aligned to 256 bytes and freed with the last handle.
  // Only for planning. Errors: kResourceExhausted.
  virtual absl::StatusOr<std::shared_ptr<void>> Allocate(
      int64_t size_bytes) = 0;
  // The same for host memory that is fastest to copy to and from the device.
  virtual absl::StatusOr<std::shared_ptr<void>> AllocateHost(
      int64_t size_bytes) = 0;

  // `host` comes from AllocateHost, and must not change until a CopyToHost has
  // returned.
  virtual absl::Status CopyFromHost(const void* host, int64_t size_bytes,
                                    void* device) = 0;
  // Waits for all earlier calls and for the copy.
  virtual absl::Status CopyToHost(const void* device, int64_t size_bytes,
                                  void* host) = 0;
  virtual absl::Status Copy(const void* from, int64_t size_bytes, void* to) = 0;
  virtual absl::Status Zero(int64_t size_bytes, void* data) = 0;

  virtual absl::Status Multiply(const MatrixProduct& product) = 0;
  // The same with an epilogue, for a product that does not accumulate; its
  // pointers are not used. Null if no library supports it: the layer then uses
  // Multiply and its own kernels. This device must outlive the result.
  virtual absl::StatusOr<std::unique_ptr<FusedProduct>> PlanFusedProduct(
      const MatrixProduct& product, Epilogue epilogue) = 0;

  // Writes the keys to `sorted` in ascending order of all their 64 bits. Uses
  // the scratch, of which SortScratchBytes(n) must be reserved.
  virtual absl::Status Sort(const uint64_t* keys, int64_t n,
                            uint64_t* sorted) = 0;
  virtual absl::StatusOr<int64_t> SortScratchBytes(int64_t n) = 0;

  // Plans for arrays of type storage(). Null if no library supports such
  // convolutions: the layer then computes them itself.
  virtual absl::StatusOr<std::unique_ptr<LibraryConvolution>> PlanConvolution(
      const ConvolutionGeometry& geometry) = 0;

  // Null if the layer is to compute such recurrences itself. Shape and input
  // are valid. This device must outlive the result.
  virtual absl::StatusOr<std::unique_ptr<RecurrentOp>> PlanRecurrent(
      const RecurrentShape& shape, const ActivationDesc& input);

  // Calls the core for each of `count` elements or blocks (kernel_core.h).
  template <typename Core>
  absl::Status Run(const Core& core, int64_t count) {
    if (count < 1) return absl::OkStatus();
    return Launch({AllKernels::IndexOf<Core>(), Core::kName, &core, count});
  }

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

 protected:
  struct KernelCall {
    int kernel;        // Its index in AllKernels.
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
