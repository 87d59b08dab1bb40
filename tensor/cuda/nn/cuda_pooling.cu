// Pooling of images on CUDA. The forward pass runs one thread per output, the
// backward pass one per input. Each thread gathers the contributions to its
// element in the order of the windows, so that results do not depend on the
// order of threads.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/layer_device/elementwise.cuh"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/cuda_nn_kernels.h"
#include "tensor/cuda/nn/image_planes.cuh"
#include "tensor/tensor.h"

namespace ps {
namespace {

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

  // The windows that contain input `i`.
  __device__ IndexRange Containing(int64_t i) const {
    // o stride - padding <= i < o stride - padding + window.
    const int64_t behind = i + padding - window;
    const int64_t begin = behind < 0 ? 0 : behind / stride + 1;
    return {begin, min((i + padding) / stride + 1, out_extent)};
  }
};

struct PoolingGeometry {
  Windows rows;
  Windows columns;
  ImagePlanes in;
  ImagePlanes out;
};

template <typename T>
class CudaPooling final : public UnaryOp {
 public:
  // maxima: as many elements as there are outputs, or none for an average.
  CudaPooling(LayerDevice* device, const PoolingGeometry& geometry,
              int64_t num_inputs, ActivationDesc output,
              DeviceArray<int32_t> maxima)
      : device_(device),
        geometry_(geometry),
        share_(1 / static_cast<float>(geometry.rows.window *
                                      geometry.columns.window)),
        num_inputs_(num_inputs),
        output_(std::move(output)),
        maxima_(std::move(maxima)) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* x, float* y) override {
    return is_max() ? TakeMaxima(Elements<T>(x), Elements<T>(y))
                    : Average(Elements<T>(x), Elements<T>(y));
  }

  absl::Status Backward(const float*, const float*, const float* dy,
                        float* dx) override {
    return AddGradients(Elements<T>(dy), Elements<T>(dx));
  }

  // Also writes the position of each maximum in its plane: the first of equal
  // ones, as on the CPU. A NaN wins and stays.
  absl::Status TakeMaxima(const T* x, T* y) {
    const PoolingGeometry g = geometry_;
    int32_t* const maxima = maxima_.data();
    return LaunchElements(
        device_, "MaxPool", num_outputs(), [=] __device__(int64_t i) {
          const ImagePlanes::Pixel out = g.out.At(i);
          const IndexRange rows = g.rows.Inputs(out.row);
          const IndexRange columns = g.columns.Inputs(out.column);
          int64_t maximum = rows.begin * g.in.width.value() + columns.begin;
          float max = x[g.in.Place(out, rows.begin, columns.begin)];
          for (int64_t h = rows.begin; h < rows.end; ++h) {
            for (int64_t w = columns.begin; w < columns.end; ++w) {
              const float value = x[g.in.Place(out, h, w)];
              if (value > max || value != value) {
                max = value;
                maximum = h * g.in.width.value() + w;
              }
            }
          }
          y[i] = max;
          maxima[i] = static_cast<int32_t>(maximum);
        });
  }

  // Padding counts as zeros: the divisor is always the size of the whole
  // window.
  absl::Status Average(const T* x, T* y) {
    const PoolingGeometry g = geometry_;
    const float share = share_;
    return LaunchElements(
        device_, "AveragePool", num_outputs(), [=] __device__(int64_t i) {
          const ImagePlanes::Pixel out = g.out.At(i);
          const IndexRange rows = g.rows.Inputs(out.row);
          const IndexRange columns = g.columns.Inputs(out.column);
          float sum = 0;
          for (int64_t h = rows.begin; h < rows.end; ++h) {
            for (int64_t w = columns.begin; w < columns.end; ++w) {
              sum += x[g.in.Place(out, h, w)];
            }
          }
          y[i] = sum * share;
        });
  }

  // An output's gradient goes to its maximum, or a share of it to each input.
  absl::Status AddGradients(const T* dy, T* dx) {
    const PoolingGeometry g = geometry_;
    const int32_t* const maxima = maxima_.data();
    const float share = is_max() ? 1 : share_;
    return LaunchElements(
        device_, "PoolGradient", num_inputs_, [=] __device__(int64_t i) {
          const ImagePlanes::Pixel in = g.in.At(i);
          const IndexRange rows = g.rows.Containing(in.row);
          const IndexRange columns = g.columns.Containing(in.column);
          const int64_t place = in.row * g.in.width.value() + in.column;
          float sum = 0;
          for (int64_t h = rows.begin; h < rows.end; ++h) {
            for (int64_t w = columns.begin; w < columns.end; ++w) {
              const int64_t out = g.out.Place(in, h, w);
              if (maxima == nullptr || maxima[out] == place) sum += dy[out];
            }
          }
          dx[i] = sum * share;
        });
  }

 private:
  bool is_max() const { return maxima_.size() > 0; }
  int64_t num_outputs() const { return NumElements(output_.shape); }

  LayerDevice* const device_;  // Not owned.
  const PoolingGeometry geometry_;
  const float share_;  // 1 / pixels of a window.
  const int64_t num_inputs_;
  const ActivationDesc output_;
  const DeviceArray<int32_t> maxima_;
};

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
  const ActivationDesc output = CudaActivation(
      storage,
      {input.shape[0], input.shape[1], rows.out_extent, columns.out_extent});
  const PoolingGeometry geometry = {rows, columns,
                                    ImagePlanes(storage, input.shape),
                                    ImagePlanes(storage, output.shape)};
  DeviceArray<int32_t> maxima;
  if (is_max) {
    PS_ASSIGN_OR_RETURN(maxima, DeviceArray<int32_t>::Create(
                                    device(), NumElements(output.shape)));
  }
  return WithElementOf(storage, [&](auto element) -> std::unique_ptr<UnaryOp> {
    return std::make_unique<CudaPooling<decltype(element)>>(
        device(), geometry, NumElements(input.shape), output,
        std::move(maxima));
  });
}

}  // namespace ps
