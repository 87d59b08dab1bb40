// A convolution as matrix products: the conversions between plain images and
// the matrices. The *columns* are [in channels x kernel, images x out pixels];
// each column holds the inputs of one output pixel. The output is [out
// channels, images x out pixels]. Each pass is one product per group:
//   output = weight columns, dcolumns = weight' doutput,
//   dweight = doutput columns'.
// (Chellapilla, Puri, Simard, "High performance convolutional neural networks
// for document processing", 2006.)
#ifndef TENSOR_CUDA_NN_CONVOLUTION_CORES_H_
#define TENSOR_CUDA_NN_CONVOLUTION_CORES_H_

#include <cstdint>

#include "tensor/cuda/layer_device/convolution_geometry.h"
#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/kernel_core.h"

namespace ps {

// The geometry for `images` images of the batch.
struct ColumnGeometry {
  ColumnGeometry(const ConvolutionGeometry& g, int64_t images)
      : images(images),
        channels(g.channels),
        height(g.height),
        width(g.width),
        out_height(g.out_height),
        out_width(g.out_width),
        kernel_height(g.kernel_height),
        kernel_width(g.kernel_width),
        stride(g.stride),
        padding(g.padding) {}

  Divisor images;
  Divisor channels;
  Divisor height;
  Divisor width;
  Divisor out_height;
  Divisor out_width;
  Divisor kernel_height;
  Divisor kernel_width;
  Divisor stride;
  int64_t padding;
};

// Count: elements of the columns.
struct ColumnsCore : ElementCore {
  static constexpr const char* kName = "Columns";
  ColumnGeometry geometry;
  const float* x;  // [images, channels, height, width]
  float* columns;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    const ColumnGeometry& g = geometry;
    int64_t out_column = 0, out_row = 0, image = 0, kernel_column = 0,
            kernel_row = 0;
    int64_t rest = g.out_width.Divide(i, &out_column);
    rest = g.out_height.Divide(rest, &out_row);
    rest = g.images.Divide(rest, &image);
    rest = g.kernel_width.Divide(rest, &kernel_column);
    const int64_t channel = g.kernel_height.Divide(rest, &kernel_row);
    const int64_t h = out_row * g.stride.value() + kernel_row - g.padding;
    const int64_t w = out_column * g.stride.value() + kernel_column - g.padding;
    if (h < 0 || h >= g.height.value() || w < 0 || w >= g.width.value()) {
      columns[i] = 0;
      return;
    }
    const int64_t plane = image * g.channels.value() + channel;
    columns[i] = x[(plane * g.height.value() + h) * g.width.value() + w];
  }
};

// Computes dx from the gradient of the columns: each pixel adds up its
// contributions in the kernel's order. Count: elements of dx.
struct ColumnsGradientCore : ElementCore {
  static constexpr const char* kName = "ColumnsGradient";
  ColumnGeometry geometry;
  const float* dcolumns;
  float* dx;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    const ColumnGeometry& g = geometry;
    int64_t w = 0, h = 0, channel = 0;
    int64_t rest = g.width.Divide(i, &w);
    rest = g.height.Divide(rest, &h);
    const int64_t image = g.channels.Divide(rest, &channel);
    float sum = 0;
    for (int64_t row = 0; row < g.kernel_height.value(); ++row) {
      const int64_t out_row = OutPlace(h - row, g.out_height.value());
      if (out_row < 0) continue;
      for (int64_t column = 0; column < g.kernel_width.value(); ++column) {
        const int64_t out_column = OutPlace(w - column, g.out_width.value());
        if (out_column < 0) continue;
        const int64_t kernel =
            (channel * g.kernel_height.value() + row) * g.kernel_width.value() +
            column;
        const int64_t out_plane = kernel * g.images.value() + image;
        sum += dcolumns[(out_plane * g.out_height.value() + out_row) *
                            g.out_width.value() +
                        out_column];
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

// Reorders [images, channels, pixels] to [channels, images, pixels]. Count:
// elements.
struct ChannelsFirstCore : ElementCore {
  static constexpr const char* kName = "ChannelsFirst";
  Divisor images;
  Divisor channels;
  Divisor pixels;
  const float* from;
  float* to;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    int64_t pixel = 0, image = 0;
    const int64_t rest = pixels.Divide(i, &pixel);
    const int64_t channel = images.Divide(rest, &image);
    to[i] = from[(image * channels.value() + channel) * pixels.value() + pixel];
  }
};

// Reorders [channels, images, pixels] to [images, channels, pixels]. Count:
// elements.
struct ImagesFirstCore : ElementCore {
  static constexpr const char* kName = "ImagesFirst";
  Divisor images;
  Divisor channels;
  Divisor pixels;
  const float* from;
  float* to;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    int64_t pixel = 0, channel = 0;
    const int64_t rest = pixels.Divide(i, &pixel);
    const int64_t image = channels.Divide(rest, &channel);
    to[i] = from[(channel * images.value() + image) * pixels.value() + pixel];
  }
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_CONVOLUTION_CORES_H_
