// A convolution as matrix products, for images with their channels last: the
// conversions between images and matrices. The *rows* are [images x out pixels,
// groups x kernel x channels of a group]; each row holds the inputs of one
// output pixel. The output is [images x out pixels, out channels], as it lies
// in memory. Each pass is one product per group:
//   output = rows weight', drows = doutput weight, dweight = doutput' rows,
// where the weights are [out channels, kernel x channels of a group].
// (Chellapilla, Puri, Simard, "High performance convolutional neural networks
// for document processing", 2006.)
#ifndef TENSOR_CUDA_NN_LAST_CHANNEL_CONVOLUTION_CORES_H_
#define TENSOR_CUDA_NN_LAST_CHANNEL_CONVOLUTION_CORES_H_

#include <cstdint>

#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/layer_device/convolution_geometry.h"
#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/kernel_core.h"

namespace ps {

struct RowGeometry {
  explicit RowGeometry(const ConvolutionGeometry& g)
      : channels(g.channels),
        group_channels(g.channels / g.groups),
        groups(g.groups),
        height(g.height),
        width(g.width),
        out_height(g.out_height),
        out_width(g.out_width),
        kernel_height(g.kernel_height),
        kernel_width(g.kernel_width),
        stride(g.stride),
        padding(g.padding) {}

  Divisor channels;
  Divisor group_channels;
  Divisor groups;
  Divisor height;
  Divisor width;
  Divisor out_height;
  Divisor out_width;
  Divisor kernel_height;
  Divisor kernel_width;
  Divisor stride;
  int64_t padding;
};

// Count: elements of the rows.
struct RowsCore : ElementCore {
  static constexpr const char* kName = "ConvolutionRows";
  RowGeometry geometry;
  const Bfloat16* x;  // [images, height, width, channels]
  Bfloat16* rows;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    const RowGeometry& g = geometry;
    int64_t group_channel = 0, kernel_column = 0, kernel_row = 0, group = 0,
            out_column = 0, out_row = 0;
    int64_t rest = g.group_channels.Divide(i, &group_channel);
    rest = g.kernel_width.Divide(rest, &kernel_column);
    rest = g.kernel_height.Divide(rest, &kernel_row);
    rest = g.groups.Divide(rest, &group);
    rest = g.out_width.Divide(rest, &out_column);
    const int64_t image = g.out_height.Divide(rest, &out_row);
    const int64_t h = out_row * g.stride.value() + kernel_row - g.padding;
    const int64_t w = out_column * g.stride.value() + kernel_column - g.padding;
    if (h < 0 || h >= g.height.value() || w < 0 || w >= g.width.value()) {
      rows[i] = 0.0f;
      return;
    }
    const int64_t pixel = (image * g.height.value() + h) * g.width.value() + w;
    rows[i] = x[pixel * g.channels.value() + group * g.group_channels.value() +
                group_channel];
  }
};

// Computes dx from the gradient of the rows: each element adds up its
// contributions in the kernel's order. Count: elements of dx.
struct RowsGradientCore : ElementCore {
  static constexpr const char* kName = "ConvolutionRowsGradient";
  RowGeometry geometry;
  const float* drows;
  Bfloat16* dx;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    const RowGeometry& g = geometry;
    int64_t channel = 0, w = 0, h = 0, group_channel = 0;
    int64_t rest = g.channels.Divide(i, &channel);
    rest = g.width.Divide(rest, &w);
    const int64_t image = g.height.Divide(rest, &h);
    const int64_t group = g.group_channels.Divide(channel, &group_channel);
    float sum = 0;
    for (int64_t row = 0; row < g.kernel_height.value(); ++row) {
      const int64_t out_row = OutPlace(h - row, g.out_height.value());
      if (out_row < 0) continue;
      for (int64_t column = 0; column < g.kernel_width.value(); ++column) {
        const int64_t out_column = OutPlace(w - column, g.out_width.value());
        if (out_column < 0) continue;
        const int64_t pixel =
            (image * g.out_height.value() + out_row) * g.out_width.value() +
            out_column;
        const int64_t kernel =
            ((pixel * g.groups.value() + group) * g.kernel_height.value() +
             row) *
                g.kernel_width.value() +
            column;
        sum += drows[kernel * g.group_channels.value() + group_channel];
      }
    }
    dx[i] = sum;
  }

 private:
  // The output whose window begins at `begin` of the unpadded input; -1 if
  // there is none.
  PS_HOST_DEVICE int64_t OutPlace(int64_t begin, int64_t out_extent) const {
    if (begin + geometry.padding < 0) return -1;
    int64_t rest = 0;
    const int64_t place =
        geometry.stride.Divide(begin + geometry.padding, &rest);
    return rest == 0 && place < out_extent ? place : -1;
  }
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_LAST_CHANNEL_CONVOLUTION_CORES_H_
