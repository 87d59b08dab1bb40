// Takes every stride-th pixel of images, and adds channels of zeros on both
// sides.
#ifndef TENSOR_CUDA_NN_SUBSAMPLING_CORES_H_
#define TENSOR_CUDA_NN_SUBSAMPLING_CORES_H_

#include <cstdint>

#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/kernel_core.h"
#include "tensor/cuda/nn/image_array.h"

namespace ps {

struct SubsamplingGeometry {
  ImageArray input;
  ImageArray output;
  Divisor stride;
  int64_t first_channel;  // First output channel that is not zero.
};

// Count: outputs.
template <typename T>
struct SubsampleCore : ElementCore {
  static constexpr const char* kName = "Subsample";
  SubsamplingGeometry geometry;
  const T* x;
  T* y;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    const SubsamplingGeometry& g = geometry;
    ImagePixel pixel = g.output.At(i);
    pixel.channel -= g.first_channel;
    if (pixel.channel < 0 || pixel.channel >= g.input.channels.value()) {
      y[i] = 0;
      return;
    }
    pixel.row *= g.stride.value();
    pixel.column *= g.stride.value();
    y[i] = x[g.input.Place(pixel)];
  }
};

// Count: inputs.
template <typename T>
struct SubsampleGradientCore : ElementCore {
  static constexpr const char* kName = "SubsampleGradient";
  SubsamplingGeometry geometry;
  const T* dy;
  T* dx;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    const SubsamplingGeometry& g = geometry;
    ImagePixel pixel = g.input.At(i);
    int64_t row_rest = 0, column_rest = 0;
    pixel.row = g.stride.Divide(pixel.row, &row_rest);
    pixel.column = g.stride.Divide(pixel.column, &column_rest);
    if (row_rest != 0 || column_rest != 0) {
      dx[i] = 0;
      return;
    }
    pixel.channel += g.first_channel;
    dx[i] = dy[g.output.Place(pixel)];
  }
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_SUBSAMPLING_CORES_H_
