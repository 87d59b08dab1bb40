// Pooling of images on CUDA: over windows, over the parts of a grid, which may
// overlap, and over whole images.

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/cuda_nn_kernels.h"
#include "tensor/cuda/nn/gather.cuh"
#include "tensor/cuda/nn/image_array.cuh"
#include "tensor/tensor.h"

namespace ps {
namespace {

// Indices [begin, end).
struct IndexRange {
  int64_t begin;
  int64_t end;
};

// The windows along one direction.
struct Windows {
  int64_t extent;      // Extent of the input.
  int64_t out_extent;  // Number of windows.
  int64_t window;
  int64_t stride;
  int64_t padding;

  Windows(const PoolingShape& shape, int64_t extent)
      : extent(extent),
        out_extent((extent + 2 * shape.padding - shape.window) / shape.stride +
                   1),
        window(shape.window),
        stride(shape.stride),
        padding(shape.padding) {}

  // The range of inputs in window `o`.
  __device__ IndexRange Inputs(int64_t o) const {
    const int64_t begin = o * stride - padding;
    return {max(begin, int64_t{0}), min(begin + window, extent)};
  }
  // The number that a sum over window `o` is divided by: padding counts as
  // zeros.
  __device__ int64_t Count(int64_t) const { return window; }

  // The windows that contain input `i`.
  __device__ IndexRange Containing(int64_t i) const {
    // o stride - padding <= i < o stride - padding + window.
    const int64_t behind = i + padding - window;
    const int64_t begin = behind < 0 ? 0 : behind / stride + 1;
    return {begin, min((i + padding) / stride + 1, out_extent)};
  }
};

// The same for an extent that is divided into parts, where part o is [floor(o
// extent / parts), ceil((o + 1) extent / parts)).
struct Parts {
  Divisor extent;
  Divisor parts;

  __device__ IndexRange Inputs(int64_t o) const {
    const int64_t n = extent.value();
    return {parts.Quotient(o * n),
            parts.Quotient((o + 1) * n + parts.value() - 1)};
  }
  __device__ int64_t Count(int64_t o) const {
    const IndexRange inputs = Inputs(o);
    return inputs.end - inputs.begin;
  }
  // The parts with i < ceil((o + 1) extent / parts) and floor(o extent / parts)
  // <= i.
  __device__ IndexRange Containing(int64_t i) const {
    const int64_t n = parts.value();
    return {extent.Quotient(i * n),
            extent.Quotient((i + 1) * n + extent.value() - 1)};
  }
};

template <typename Direction>
struct AveragePool {
  Direction rows;
  Direction columns;
  ImageArray in;
  ImageArray out;

  template <typename T>
  __device__ float Output(int64_t i, const T* x) const {
    const ImagePixel o = out.At(i);
    const IndexRange hs = rows.Inputs(o.row), ws = columns.Inputs(o.column);
    float sum = 0;
    for (int64_t h = hs.begin; h < hs.end; ++h) {
      for (int64_t w = ws.begin; w < ws.end; ++w) {
        sum += x[in.Place(o.At(h, w))];
      }
    }
    return sum * Share(o.row, o.column);
  }

  template <typename T>
  __device__ float InputGradient(int64_t i, const T* dy) const {
    const ImagePixel p = in.At(i);
    const IndexRange hs = rows.Containing(p.row),
                     ws = columns.Containing(p.column);
    float sum = 0;
    for (int64_t h = hs.begin; h < hs.end; ++h) {
      for (int64_t w = ws.begin; w < ws.end; ++w) {
        sum += dy[out.Place(p.At(h, w))] * Share(h, w);
      }
    }
    return sum;
  }

  // Of each input in an output.
  __device__ float Share(int64_t row, int64_t column) const {
    return 1 / static_cast<float>(rows.Count(row) * columns.Count(column));
  }
};

struct MaxPool {
  Windows rows;
  Windows columns;
  ImageArray in;
  ImageArray out;
  // The place of each output's maximum in its plane, from Output for
  // InputGradient.
  int32_t* maxima;

  // The first of equal maxima, as on the CPU. A NaN wins and stays.
  template <typename T>
  __device__ float Output(int64_t i, const T* x) const {
    const ImagePixel o = out.At(i);
    const IndexRange hs = rows.Inputs(o.row), ws = columns.Inputs(o.column);
    int64_t maximum = InPlane(hs.begin, ws.begin);
    float max = x[in.Place(o.At(hs.begin, ws.begin))];
    for (int64_t h = hs.begin; h < hs.end; ++h) {
      for (int64_t w = ws.begin; w < ws.end; ++w) {
        const float value = x[in.Place(o.At(h, w))];
        if (value > max || value != value) {
          max = value;
          maximum = InPlane(h, w);
        }
      }
    }
    maxima[i] = static_cast<int32_t>(maximum);
    return max;
  }

  template <typename T>
  __device__ float InputGradient(int64_t i, const T* dy) const {
    const ImagePixel p = in.At(i);
    const IndexRange hs = rows.Containing(p.row),
                     ws = columns.Containing(p.column);
    const int64_t place = InPlane(p.row, p.column);
    float sum = 0;
    for (int64_t h = hs.begin; h < hs.end; ++h) {
      for (int64_t w = ws.begin; w < ws.end; ++w) {
        const int64_t o = out.Place(p.At(h, w));
        if (maxima[o] == place) sum += dy[o];
      }
    }
    return sum;
  }

  __device__ int64_t InPlane(int64_t row, int64_t column) const {
    return row * in.width.value() + column;
  }
};

AveragePool<Parts> PoolToGrid(Storage storage, const Shape& input,
                              const Shape& output) {
  return {{Divisor(input[2]), Divisor(output[2])},
          {Divisor(input[3]), Divisor(output[3])},
          ImageArray(storage, input),
          ImageArray(storage, output)};
}

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> CudaNnKernels::PlanPooling(
    const PoolingShape& shape, const ActivationDesc& input) {
  const bool is_max = shape.kind == PoolingShape::Kind::kMax;
  const std::string what =
      absl::StrCat(is_max ? "max" : "average", " pooling of ",
                   ShapeString(input.shape), " with windows of ", shape.window,
                   ", stride ", shape.stride, ", padding ", shape.padding);
  PS_ASSIGN_OR_RETURN(const Storage storage, CheckCudaImages(what, input));
  // With more padding, some windows would contain nothing but padding.
  if (shape.window < 1 || shape.stride < 1 || shape.padding < 0 ||
      shape.padding > shape.window / 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        what,
        ": needs window and stride of at least 1, and padding of at least 0 "
        "and at most half the window"));
  }
  const int64_t height = input.shape[2], width = input.shape[3];
  if (height + 2 * shape.padding < shape.window ||
      width + 2 * shape.padding < shape.window) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": the window is larger than the padded input"));
  }
  if (height * width > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": an image has 2^31 pixels or more"));
  }
  const Windows rows(shape, height), columns(shape, width);
  const Shape output = {input.shape[0], input.shape[1], rows.out_extent,
                        columns.out_extent};
  const ImageArray in(storage, input.shape), out(storage, output);
  if (!is_max) {
    return NewGatherOp(device(), storage, "AveragePool", input.shape, output,
                       AveragePool<Windows>{rows, columns, in, out});
  }
  PS_ASSIGN_OR_RETURN(
      std::shared_ptr<void> maxima,
      device()->Allocate(NumElements(output) *
                         static_cast<int64_t>(sizeof(int32_t))));
  const MaxPool map = {rows, columns, in, out,
                       static_cast<int32_t*>(maxima.get())};
  return NewGatherOp(device(), storage, "MaxPool", input.shape, output, map,
                     std::move(maxima));
}

absl::StatusOr<std::unique_ptr<UnaryOp>> CudaNnKernels::PlanAdaptivePooling(
    int64_t out_height, int64_t out_width, const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("adaptive pooling of ", ShapeString(input.shape), " to ",
                   out_height, " x ", out_width);
  PS_ASSIGN_OR_RETURN(const Storage storage, CheckCudaImages(what, input));
  if (out_height < 1 || out_width < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": both sizes must be at least 1"));
  }
  const Shape& shape = input.shape;
  const Shape output = {shape[0], shape[1], out_height, out_width};
  return NewGatherOp(device(), storage, "AdaptivePool", shape, output,
                     PoolToGrid(storage, shape, output));
}

absl::StatusOr<std::unique_ptr<UnaryOp>> CudaNnKernels::PlanGlobalPooling(
    const ActivationDesc& input) {
  const Shape& shape = input.shape;
  PS_ASSIGN_OR_RETURN(
      const Storage storage,
      CheckCudaImages(absl::StrCat("global pooling of ", ShapeString(shape)),
                      input));
  return NewGatherOp(device(), storage, "GlobalPool", shape,
                     {shape[0], shape[1]},
                     PoolToGrid(storage, shape, {shape[0], shape[1], 1, 1}));
}

}  // namespace ps
