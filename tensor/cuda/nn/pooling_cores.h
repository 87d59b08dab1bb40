// Pooling of images. The forward pass runs one thread per output, the backward
// pass one per input. Each thread gathers the contributions to its element in
// the order of the windows, so that results do not depend on the order of
// threads.
//
// Arrays are [planes, height, width, inner]. Plain images have a plane for each
// channel and inner = 1; those with their channels last have a plane for each
// image, and inner is the number of channels.
#ifndef TENSOR_CUDA_NN_POOLING_CORES_H_
#define TENSOR_CUDA_NN_POOLING_CORES_H_

#include <cstdint>

#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/kernel_core.h"

namespace ps {

// Indices [begin, end).
struct IndexRange {
  int64_t begin;
  int64_t end;
};

// The windows along one direction.
struct WindowGeometry {
  int64_t extent = 0;      // Extent of the input.
  int64_t out_extent = 0;  // Number of windows.
  int64_t window = 1;
  int64_t stride = 1;
  int64_t padding = 0;

  // The range of inputs in window `o`.
  PS_HOST_DEVICE IndexRange Inputs(int64_t o) const {
    const int64_t begin = o * stride - padding;
    return {Larger<int64_t>(begin, 0), Smaller(begin + window, extent)};
  }

  // The windows that contain input `i`.
  PS_HOST_DEVICE IndexRange Windows(int64_t i) const {
    // o stride - padding <= i < o stride - padding + window.
    const int64_t behind = i + padding - window;
    const int64_t begin = behind < 0 ? 0 : behind / stride + 1;
    return {begin, Smaller((i + padding) / stride + 1, out_extent)};
  }
};

struct PoolingGeometry2d {
  WindowGeometry rows;
  WindowGeometry columns;
  Divisor width;       // columns.extent
  Divisor height;      // rows.extent
  Divisor out_width;   // columns.out_extent
  Divisor out_height;  // rows.out_extent
  Divisor inner;
};

// An element of one plane, computed from its position in an array of planes of
// this height and width.
struct PlanePixel {
  PS_HOST_DEVICE PlanePixel(int64_t i, const Divisor& height,
                            const Divisor& width, const Divisor& inner)
      : plane(height.Divide(
            width.Divide(inner.Divide(i, &inner_place), &column), &row)) {}

  // The position of pixel 0 of the plane, in an array of this height and width.
  PS_HOST_DEVICE int64_t First(const Divisor& height, const Divisor& width,
                               const Divisor& inner) const {
    return Place(plane * height.value() * width.value(), inner);
  }
  // The position of a pixel whose number counts over all planes.
  PS_HOST_DEVICE int64_t Place(int64_t pixel, const Divisor& inner) const {
    return pixel * inner.value() + inner_place;
  }

  // These three are declared before `plane`, whose initialiser sets them.
  int64_t inner_place = 0;
  int64_t row = 0;
  int64_t column = 0;
  int64_t plane;
};

// Also writes the position of each maximum in its plane: the first of equal
// ones, as on the CPU. A NaN wins and stays. Count: outputs.
template <typename T>
struct MaxPoolCore : ElementCore {
  static constexpr const char* kName = "MaxPool";
  PoolingGeometry2d geometry;
  const T* x;
  T* y;
  int32_t* maxima;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    const PoolingGeometry2d& g = geometry;
    const PlanePixel out(i, g.out_height, g.out_width, g.inner);
    const IndexRange rows = g.rows.Inputs(out.row);
    const IndexRange columns = g.columns.Inputs(out.column);
    const T* const plane = x + out.First(g.height, g.width, g.inner);
    int64_t maximum = rows.begin * g.width.value() + columns.begin;
    float max = plane[maximum * g.inner.value()];
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      for (int64_t w = columns.begin; w < columns.end; ++w) {
        const int64_t place = h * g.width.value() + w;
        const float value = plane[place * g.inner.value()];
        if (value > max || value != value) {
          max = value;
          maximum = place;
        }
      }
    }
    y[i] = max;
    maxima[i] = static_cast<int32_t>(maximum);
  }
};

// Count: inputs.
template <typename T>
struct MaxPoolGradientCore : ElementCore {
  static constexpr const char* kName = "MaxPoolGradient";
  PoolingGeometry2d geometry;
  const T* dy;
  const int32_t* maxima;
  T* dx;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    const PoolingGeometry2d& g = geometry;
    const PlanePixel in(i, g.height, g.width, g.inner);
    const IndexRange rows = g.rows.Windows(in.row);
    const IndexRange columns = g.columns.Windows(in.column);
    const int64_t place = in.row * g.width.value() + in.column;
    float sum = 0;
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      const int64_t row =
          (in.plane * g.out_height.value() + h) * g.out_width.value();
      for (int64_t w = columns.begin; w < columns.end; ++w) {
        const int64_t out = in.Place(row + w, g.inner);
        if (maxima[out] == place) sum += dy[out];
      }
    }
    dx[i] = sum;
  }
};

// Padding counts as zeros: the divisor is always the size of the whole window.
// Count: outputs.
template <typename T>
struct AveragePoolCore : ElementCore {
  static constexpr const char* kName = "AveragePool";
  PoolingGeometry2d geometry;
  float share;  // 1 / pixels of a window.
  const T* x;
  T* y;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    const PoolingGeometry2d& g = geometry;
    const PlanePixel out(i, g.out_height, g.out_width, g.inner);
    const IndexRange rows = g.rows.Inputs(out.row);
    const IndexRange columns = g.columns.Inputs(out.column);
    const T* const plane = x + out.First(g.height, g.width, g.inner);
    float sum = 0;
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      for (int64_t w = columns.begin; w < columns.end; ++w) {
        sum += plane[(h * g.width.value() + w) * g.inner.value()];
      }
    }
    y[i] = sum * share;
  }
};

// Count: inputs.
template <typename T>
struct AveragePoolGradientCore : ElementCore {
  static constexpr const char* kName = "AveragePoolGradient";
  PoolingGeometry2d geometry;
  float share;
  const T* dy;
  T* dx;

  PS_HOST_DEVICE void operator()(int64_t i) const {
    const PoolingGeometry2d& g = geometry;
    const PlanePixel in(i, g.height, g.width, g.inner);
    const IndexRange rows = g.rows.Windows(in.row);
    const IndexRange columns = g.columns.Windows(in.column);
    float sum = 0;
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      const int64_t row =
          (in.plane * g.out_height.value() + h) * g.out_width.value();
      for (int64_t w = columns.begin; w < columns.end; ++w) {
        sum += dy[in.Place(row + w, g.inner)];
      }
    }
    dx[i] = sum * share;
  }
};

}  // namespace ps

#endif  // TENSOR_CUDA_NN_POOLING_CORES_H_
