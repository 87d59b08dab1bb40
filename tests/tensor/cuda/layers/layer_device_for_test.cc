#include "tests/tensor/cuda/layers/layer_device_for_test.h"

#include <algorithm>
#include <utility>

#include "glog/logging.h"
#include "tensor/cuda/cuda_streams.h"

namespace ps {

std::shared_ptr<LayerDevice> NewLayerDeviceForTest(CudaNnOptions options) {
  auto stream = CudaStream::Create();
  CHECK(stream.ok()) << stream.status();
  options.stream = (*stream)->get();
  auto device = LayerDevice::Create(options);
  CHECK(device.ok()) << device.status();
  // The stream goes last, since the device's memory may be in use until then.
  struct Owned {
    std::unique_ptr<CudaStream> stream;
    std::unique_ptr<LayerDevice> device;
  };
  const auto owned =
      std::make_shared<Owned>(Owned{*std::move(stream), *std::move(device)});
  return std::shared_ptr<LayerDevice>(owned, owned->device.get());
}

std::shared_ptr<LayerDevice> NewLayerDeviceForTest(Precision precision) {
  CudaNnOptions options;
  options.precision = precision;
  return NewLayerDeviceForTest(options);
}

DeviceValues::DeviceValues(LayerDevice* device, Storage storage,
                           const std::vector<float>& values, int64_t offset)
    : device_(device),
      storage_(storage),
      size_(static_cast<int64_t>(values.size())) {
  const int64_t element = StorageBytes(storage);
  memory_ = device->Allocate((size_ + offset) * element).value();
  data_ = static_cast<char*>(memory_.get()) + offset * element;
  staged_ = device->AllocateHost(size_ * element).value();
  Set(values);
}

DeviceValues::DeviceValues(LayerDevice* device, const ActivationDesc& desc,
                           const std::vector<float>& values)
    : DeviceValues(
          device, desc.layout == nullptr ? Storage::kFloat : Storage::kBfloat16,
          values) {}

void DeviceValues::Set(const std::vector<float>& values) const {
  CHECK_EQ(static_cast<int64_t>(values.size()), size_);
  WithElementOf(storage_, [&](auto type) {
    std::copy(values.begin(), values.end(),
              static_cast<decltype(type)*>(staged_.get()));
  });
  const int64_t size_bytes = size_ * StorageBytes(storage_);
  absl::Status status = device_->CopyFromHost(staged_.get(), size_bytes, data_);
  CHECK(status.ok()) << status;
  // Waits for the copy.
  status = device_->CopyToHost(data_, size_bytes, staged_.get());
  CHECK(status.ok()) << status;
}

std::vector<float> DeviceValues::Values() const {
  const absl::Status status =
      device_->CopyToHost(data_, size_ * StorageBytes(storage_), staged_.get());
  CHECK(status.ok()) << status;
  return WithElementOf(storage_, [&](auto type) {
    const auto* const begin = static_cast<const decltype(type)*>(staged_.get());
    return std::vector<float>(begin, begin + size_);
  });
}

}  // namespace ps
