// A device that is not there: runs the layers' kernels on the host, block by
// block and thread by thread, with the same cores and the same barriers as the
// real one.
#ifndef TESTS_TENSOR_CUDA_LAYERS_EMULATED_LAYER_DEVICE_H_
#define TESTS_TENSOR_CUDA_LAYERS_EMULATED_LAYER_DEVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/precision.h"
#include "tensor/recording.h"
#include "tests/tensor/cuda/layers/emulate_kernel.h"

namespace ps {

struct EmulatedLayerDeviceOptions {
  EmulatedOrder order = EmulatedOrder::kForward;
  // If it is at least 0, the call of this number, of those that do something on
  // the device, fails. Counted from 0, those of Allocate not.
  int64_t failing_call = -1;
  Precision precision = Precision::kFp32;
  // Whether it has a library for products with an epilogue.
  bool fused_products = true;
  // Whether a host that touches the device's memory crashes, as it would with a
  // real device.
  bool protect_memory = false;
};

// What LayerDevice says of pointers is checked: copies and products outside of
// what was allocated, or with the wrong kind of memory, fail.
class EmulatedLayerDevice : public LayerDevice {
 public:
  explicit EmulatedLayerDevice(const EmulatedLayerDeviceOptions& options);
  ~EmulatedLayerDevice() override;

  // The names of all kernels that have been launched, in order.
  const std::vector<std::string>& launches() const { return launches_; }
  // Calls of Allocate and AllocateHost.
  int64_t num_allocations() const { return num_allocations_; }
  // Calls that count for failing_call.
  int64_t num_calls() const { return num_calls_; }

  // Keeps what `work` calls on this device instead of doing it, as the capture
  // of a stream does, and refuses what that refuses: to wait, and to allocate.
  // What is kept checks its pointers whenever it is done.
  absl::StatusOr<std::unique_ptr<Recording>> Record(
      const std::function<absl::Status()>& work);
  // Calls that were kept, and that were done of those.
  int64_t num_recorded() const { return num_recorded_; }
  int64_t num_replayed() const { return num_replayed_; }

  absl::StatusOr<std::shared_ptr<void>> Allocate(int64_t size_bytes) override;
  absl::StatusOr<std::shared_ptr<void>> AllocateHost(
      int64_t size_bytes) override;
  absl::Status CopyFromHost(const void* host, int64_t size_bytes,
                            void* device) override;
  absl::Status CopyToHost(const void* device, int64_t size_bytes,
                          void* host) override;
  absl::Status Copy(const void* from, int64_t size_bytes, void* to) override;
  absl::Status Zero(int64_t size_bytes, void* data) override;
  absl::Status Multiply(const MatrixProduct& product) override;
  absl::StatusOr<std::unique_ptr<FusedProduct>> PlanFusedProduct(
      const MatrixProduct& product, Epilogue epilogue) override;
  absl::Status Sort(const uint64_t* keys, int64_t n, uint64_t* sorted) override;
  absl::StatusOr<int64_t> SortScratchBytes(int64_t n) override;
  // None.
  absl::StatusOr<std::unique_ptr<LibraryConvolution>> PlanConvolution(
      const ConvolutionGeometry& geometry) override;

 protected:
  absl::Status Launch(const KernelCall& call) override;

 private:
  // What is allocated of one kind, by address.
  class Regions;
  // As long as it exists, the device's memory may be touched.
  class Access;

  class Fused;

  using Work = std::function<absl::Status()>;
  class Tape;

  absl::Status Count(const char* call);
  // Does the work, or keeps it.
  absl::Status Do(Work work);
  absl::Status RefuseWhileRecording(const char* call) const;
  absl::Status CheckDevice(const void* data, int64_t size_bytes,
                           const char* what) const;
  absl::Status CheckOperands(const MatrixProduct& product) const;

  const EmulatedLayerDeviceOptions options_;
  // Shared with the allocations, which may outlive the device.
  const std::shared_ptr<Regions> device_regions_;
  const std::shared_ptr<Regions> host_regions_;
  std::vector<std::string> launches_;
  int64_t num_allocations_ = 0;
  int64_t num_calls_ = 0;
  std::vector<Work>* recorded_ = nullptr;  // While recording.
  int64_t num_recorded_ = 0;
  int64_t num_replayed_ = 0;
};

}  // namespace ps

#endif  // TESTS_TENSOR_CUDA_LAYERS_EMULATED_LAYER_DEVICE_H_
