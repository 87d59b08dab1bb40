// An emulated device: runs the layers' kernels on the host, block by block and
// thread by thread, with the same cores and the same barriers as the real one.
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
  // If at least 0, the call with this number fails, counting from 0 the calls
  // that do something on the device, but not those of Allocate.
  int64_t failing_call = -1;
  Precision precision = Precision::kFp32;
  // Whether the device has a library for products with an epilogue.
  bool fused_products = true;
  // Whether access to the device's memory from the host crashes, as it would
  // with a real device.
  bool protect_memory = false;
};

// Checks the pointer rules of LayerDevice: copies and products outside of
// allocated memory, or with the wrong kind of memory, fail.
class EmulatedLayerDevice : public LayerDevice {
 public:
  explicit EmulatedLayerDevice(const EmulatedLayerDeviceOptions& options);
  ~EmulatedLayerDevice() override;

  // The names of all kernels that have been launched, in order.
  const std::vector<std::string>& launches() const { return launches_; }
  // Number of calls of Allocate and AllocateHost.
  int64_t num_allocations() const { return num_allocations_; }
  // Number of calls that count for failing_call.
  int64_t num_calls() const { return num_calls_; }

  // Records the calls that `work` makes on this device instead of running them,
  // like the capture of a stream, and rejects what a capture rejects: waiting
  // and allocating. A recorded call checks its pointers each time it runs.
  absl::StatusOr<std::unique_ptr<Recording>> Record(
      const std::function<absl::Status()>& work);
  // Number of calls that were recorded, and of recorded calls that were run.
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
  // There is none.
  absl::StatusOr<std::unique_ptr<LibraryConvolution>> PlanConvolution(
      const ConvolutionGeometry& geometry) override;

 protected:
  absl::Status Launch(const KernelCall& call) override;

 private:
  // Allocations of one kind, by address.
  class Regions;
  // While it exists, the device's memory may be accessed.
  class Access;

  class Fused;

  using Work = std::function<absl::Status()>;
  class Tape;

  absl::Status Count(const char* call);
  // Runs the work, or records it.
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
