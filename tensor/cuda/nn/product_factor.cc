#include "tensor/cuda/nn/product_factor.h"

#include "common/status_macros.h"
#include "tensor/cuda/nn/reorder_cores.h"

namespace ps {

absl::StatusOr<ProductFactor> ProductFactor::Copied(LayerDevice* device,
                                                    int64_t n, int64_t channels,
                                                    int64_t pixels) {
  ProductFactor factor;
  factor.channels_ = channels;
  factor.pixels_ = pixels;
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
  ChannelsLastCore core;
  core.channels = Divisor(channels_);
  core.pixels = Divisor(pixels_);
  core.from = array;
  core.to = copy_.data();
  return device->Run(core, copy_.size());
}

absl::Status ProductFactor::ToPlain(LayerDevice* device, float* array) const {
  PlainOrderCore<Bfloat16> core;
  core.channels = Divisor(channels_);
  core.pixels = Divisor(pixels_);
  core.from = copy_.data();
  core.to = array;
  return device->Run(core, copy_.size());
}

}  // namespace ps
