#include "tensor/cuda/nn/product_factor.h"

#include "common/status_macros.h"

namespace ps {

absl::StatusOr<ProductFactor> ProductFactor::Copied(LayerDevice* device,
                                                    int64_t n, int64_t channels,
                                                    int64_t pixels) {
  ProductFactor factor;
  factor.order_ = {n, channels, pixels};
  PS_ASSIGN_OR_RETURN(factor.copy_, DeviceArray<Bfloat16>::Create(device, n));
  return factor;
}

absl::StatusOr<ProductFactor> ProductFactor::Weights(LayerDevice* device,
                                                     int64_t n,
                                                     int64_t channels,
                                                     int64_t pixels) {
  if (device->storage() == Storage::kFloat) return ProductFactor();
  return Copied(device, n, channels, pixels);
}

absl::Status ProductFactor::Take(LayerDevice* device,
                                 const float* array) const {
  if (!is_copy()) return absl::OkStatus();
  return ToChannelsLast(device, order_, array, copy_.data());
}

absl::Status ProductFactor::ToPlain(LayerDevice* device, float* array) const {
  return ToPlainOrder(device, order_, copy_.data(), array);
}

}  // namespace ps
