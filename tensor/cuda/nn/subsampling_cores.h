// Every stride-th pixel of plain images, with channels of zeros around.
#ifndef TENSOR_CUDA_NN_SUBSAMPLING_CORES_H_
#define TENSOR_CUDA_NN_SUBSAMPLING_CORES_H_

#include <cstdint>

#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/kernel_core.h"
#include "tensor/cuda/nn/pooling_cores.h"

namespace ps {

struct SubsamplingGeometry {
  Divisor channels;
  Divisor height;
  Divisor width;
  Divisor out_channels;
  Divisor out_height;
  Divisor out_width;
  Divisor stride;
  int64_t first_channel;  // Of the output that is not zero.
};

// Count: outputs.
struct SubsampleCore : ElementCore {
  static constexpr const char* kName = "Subsample";
  SubsamplingGeometry geometry;
  const float* x;
  float* y;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    const SubsamplingGeometry& g = geometry;
    const PlanePixel out(i, g.out_height, g.out_width);
    int64_t channel = 0;
    const int64_t image = g.out_channels.Divide(out.plane, &channel);
    channel -= g.first_channel;
    if (channel < 0 || channel >= g.channels.value()) {
      y[i] = 0;
      return;
    }
    const int64_t row =
        (image * g.channels.value() + channel) * g.height.value() +
        out.row * g.stride.value();
    y[i] = x[row * g.width.value() + out.column * g.stride.value()];
  }
};

// Count: inputs.
struct SubsampleGradientCore : ElementCore {
  static constexpr const char* kName = "SubsampleGradient";
  SubsamplingGeometry geometry;
  const float* dy;
  float* dx;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    const SubsamplingGeometry& g = geometry;
    const PlanePixel in(i, g.height, g.width);
    int64_t row_rest = 0, column_rest = 0;
    const int64_t out_row = g.stride.Divide(in.row, &row_rest);
    const int64_t out_column = g.stride.Divide(in.column, &column_rest);
    if (row_rest != 0 || column_rest != 0) {
      dx[i] = 0;
      return;
    }
    int64_t channel = 0;
    const int64_t image = g.channels.Divide(in.plane, &channel);
    const int64_t plane =
        image * g.out_channels.value() + g.first_channel + channel;
    dx[i] = dy[(plane * g.out_height.value() + out_row) * g.out_width.value() +
               out_column];
  }
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_SUBSAMPLING_CORES_H_
