// Runs sums over channels on a device (channel_sum_cores.h).
#ifndef TENSOR_CUDA_NN_CHANNEL_SUMS_H_
#define TENSOR_CUDA_NN_CHANNEL_SUMS_H_

#include <cstdint>
#include <type_traits>

#include "absl/status/status.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/layer_device/layer_device.h"
#include "tensor/cuda/nn/channel_sum_cores.h"
#include "tensor/tensor.h"

namespace ps {

// The geometry of images, or of [batch, channels].
inline ChannelGeometry ChannelGeometryOf(Storage storage, const Shape& shape) {
  const int64_t pixels = NumElements(shape) / (shape[0] * shape[1]);
  if (storage == Storage::kBfloat16) {
    return ChannelGeometry::ChannelsLast(shape[0] * pixels, shape[1]);
  }
  return ChannelGeometry::Plain(shape[0], shape[1], pixels);
}

// The arrays for the sums of a geometry's chunks; num_partial() elements each.
struct ChannelSums {
  double* first = nullptr;
  double* second = nullptr;

  static int64_t ScratchBytes(const ChannelGeometry& geometry) {
    return 2 * geometry.num_partial() * static_cast<int64_t>(sizeof(double));
  }
  static ChannelSums InScratch(LayerDevice* device,
                               const ChannelGeometry& geometry) {
    double* const first = static_cast<double*>(device->scratch());
    return {first, first + geometry.num_partial()};
  }
};

// Arrays of bfloat16 must have their channels last.
template <typename Terms>
absl::Status SumChannels(LayerDevice* device, const ChannelGeometry& geometry,
                         const Terms& terms, const ChannelSums& sums) {
  if constexpr (std::is_same_v<typename Terms::Element, Bfloat16>) {
    using Core = LastChannelSumsCore<Terms>;
    Core core;
    core.geometry = geometry;
    core.tiles = Divisor(Core::NumTiles(geometry));
    core.terms = terms;
    core.first = sums.first;
    core.second = sums.second;
    return device->Run(core, Core::NumBlocks(geometry));
  } else {
    ChannelSumsCore<Terms> core;
    core.geometry = geometry;
    core.terms = terms;
    core.first = sums.first;
    core.second = sums.second;
    return device->Run(core, geometry.num_partial());
  }
}

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CHANNEL_SUMS_H_
