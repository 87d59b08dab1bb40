#include "tensor/cuda/layer_device/layer_device.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {

absl::StatusOr<std::unique_ptr<RecurrentOp>> LayerDevice::PlanRecurrent(
    const RecurrentShape&, const ActivationDesc&) {
  return std::unique_ptr<RecurrentOp>();
}

absl::Status LayerDevice::ReserveScratch(int64_t size_bytes) {
  if (size_bytes <= scratch_bytes_) return absl::OkStatus();
  ++scratch_version_;
  // Frees the old memory first, so that the two need not fit together.
  scratch_.reset();
  scratch_bytes_ = 0;
  PS_ASSIGN_OR_RETURN(scratch_, Allocate(size_bytes));
  scratch_bytes_ = size_bytes;
  return absl::OkStatus();
}

absl::Status AppendBytes(LayerDevice* device,
                         const std::vector<DeviceBytes>& from, bool is_zero,
                         std::string* bytes) {
  for (const DeviceBytes& part : from) {
    const auto size = static_cast<size_t>(part.size_bytes);
    if (is_zero) {
      bytes->append(size, '\0');
      continue;
    }
    PS_ASSIGN_OR_RETURN(const std::shared_ptr<void> host,
                        device->AllocateHost(part.size_bytes));
    PS_RETURN_IF_ERROR(
        device->CopyToHost(part.data, part.size_bytes, host.get()));
    bytes->append(static_cast<const char*>(host.get()), size);
  }
  return absl::OkStatus();
}

absl::Status TakeBytes(LayerDevice* device, const std::vector<DeviceBytes>& to,
                       absl::string_view* bytes) {
  for (const DeviceBytes& part : to) {
    const auto size = static_cast<size_t>(part.size_bytes);
    if (bytes->size() < size) {
      return absl::DataLossError(absl::StrCat(
          "saved state ends ", size - bytes->size(), " bytes too early"));
    }
    PS_ASSIGN_OR_RETURN(const std::shared_ptr<void> host,
                        device->AllocateHost(part.size_bytes));
    std::memcpy(host.get(), bytes->data(), size);
    bytes->remove_prefix(size);
    PS_RETURN_IF_ERROR(
        device->CopyFromHost(host.get(), part.size_bytes, part.data));
    // The memory is used until the device has copied it.
    char last;
    PS_RETURN_IF_ERROR(device->CopyToHost(part.data, 1, &last));
  }
  return absl::OkStatus();
}

}  // namespace ps
