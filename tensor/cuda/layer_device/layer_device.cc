#include "tensor/cuda/layer_device/layer_device.h"

#include <utility>

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

}  // namespace ps
