// Devices and arrays for tests of layers, on a real device or on the emulated
// one.
#ifndef TESTS_TENSOR_CUDA_LAYERS_LAYER_DEVICE_FOR_TEST_H_
#define TESTS_TENSOR_CUDA_LAYERS_LAYER_DEVICE_FOR_TEST_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/nn_kernels.h"

namespace ps {

// A device with a stream of its own, whose allocations are all separate.
std::shared_ptr<LayerDevice> NewLayerDeviceForTest(
    CudaNnOptions options = CudaNnOptions());
std::shared_ptr<LayerDevice> NewLayerDeviceForTest(Precision precision);

// An array on the device, of either type, that begins `offset` elements after
// an aligned address.
class DeviceValues {
 public:
  DeviceValues(LayerDevice* device, Storage storage,
               const std::vector<float>& values, int64_t offset = 0);
  // The elements of an activation.
  DeviceValues(LayerDevice* device, const ActivationDesc& desc,
               const std::vector<float>& values);

  void* data() const { return data_; }
  float* floats() const { return static_cast<float*>(data_); }
  void Set(const std::vector<float>& values) const;
  // Waits for the device.
  std::vector<float> Values() const;

 private:
  LayerDevice* device_;  // Not owned.
  Storage storage_;
  int64_t size_;
  std::shared_ptr<void> memory_;
  std::shared_ptr<void> staged_;
  void* data_;
};

}  // namespace ps

#endif  // TESTS_TENSOR_CUDA_LAYERS_LAYER_DEVICE_FOR_TEST_H_
