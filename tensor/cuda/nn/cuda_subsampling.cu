// Takes every stride-th pixel of images, and adds channels of zeros on both
// sides, on CUDA.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/elementwise.cuh"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/cuda_nn_kernels.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

struct ImagePixel {
  int64_t image = 0;
  int64_t channel = 0;
  int64_t row = 0;
  int64_t column = 0;
};

// Plain [images, channels, height, width], or [images, height, width,
// channels].
struct ImageArray {
  ImageArray(Storage storage, const Shape& shape)
      : channels_last(storage == Storage::kBfloat16),
        channels(shape[1]),
        height(shape[2]),
        width(shape[3]) {}

  __device__ int64_t Place(const ImagePixel& p) const {
    if (channels_last) {
      return ((p.image * height.value() + p.row) * width.value() + p.column) *
                 channels.value() +
             p.channel;
    }
    return ((p.image * channels.value() + p.channel) * height.value() + p.row) *
               width.value() +
           p.column;
  }

  // The pixel at position `place` of the array.
  __device__ ImagePixel At(int64_t place) const {
    ImagePixel p;
    if (channels_last) {
      place = channels.Divide(place, &p.channel);
      place = width.Divide(place, &p.column);
      p.image = height.Divide(place, &p.row);
    } else {
      place = width.Divide(place, &p.column);
      place = height.Divide(place, &p.row);
      p.image = channels.Divide(place, &p.channel);
    }
    return p;
  }

  bool channels_last;
  Divisor channels;
  Divisor height;
  Divisor width;
};

struct Geometry {
  ImageArray input;
  ImageArray output;
  Divisor stride;
  int64_t first_channel;  // First output channel that is not zero.
};

template <typename T>
class CudaSubsampling final : public UnaryOp {
 public:
  CudaSubsampling(LayerDevice* device, const Geometry& geometry,
                  int64_t num_inputs, ActivationDesc output)
      : device_(device),
        geometry_(geometry),
        num_inputs_(num_inputs),
        output_(std::move(output)) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* memory, float* result) override {
    const Geometry g = geometry_;
    const T* const x = Elements<T>(memory);
    T* const y = Elements<T>(result);
    return LaunchElements(
        device_, "Subsample", NumElements(output_.shape),
        [=] __device__(int64_t i) {
          ImagePixel pixel = g.output.At(i);
          pixel.channel -= g.first_channel;
          if (pixel.channel < 0 || pixel.channel >= g.input.channels.value()) {
            y[i] = 0;
            return;
          }
          pixel.row *= g.stride.value();
          pixel.column *= g.stride.value();
          y[i] = x[g.input.Place(pixel)];
        });
  }

  absl::Status Backward(const float*, const float*, const float* gradient,
                        float* result) override {
    const Geometry g = geometry_;
    const T* const dy = Elements<T>(gradient);
    T* const dx = Elements<T>(result);
    return LaunchElements(
        device_, "SubsampleGradient", num_inputs_, [=] __device__(int64_t i) {
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
        });
  }

 private:
  LayerDevice* const device_;  // Not owned.
  const Geometry geometry_;
  const int64_t num_inputs_;
  const ActivationDesc output_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<UnaryOp>> CudaNnKernels::PlanSubsampling(
    const SubsamplingShape& shape, const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("subsampling of ", ShapeString(input.shape), " by ",
                   shape.stride, " to ", shape.out_channels, " channels");
  PS_ASSIGN_OR_RETURN(const Storage storage, CheckCudaImages(what, input));
  const int64_t added = shape.out_channels - input.shape[1];
  if (shape.stride < 1 || added < 0 || added % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        what,
        ": needs a stride of at least 1, and an even number of new channels"));
  }
  const ActivationDesc output =
      CudaActivation(storage, {input.shape[0], shape.out_channels,
                               (input.shape[2] - 1) / shape.stride + 1,
                               (input.shape[3] - 1) / shape.stride + 1});
  const Geometry geometry = {ImageArray(storage, input.shape),
                             ImageArray(storage, output.shape),
                             Divisor(shape.stride), added / 2};
  return WithElementOf(storage, [&](auto element) -> std::unique_ptr<UnaryOp> {
    return std::make_unique<CudaSubsampling<decltype(element)>>(
        device(), geometry, NumElements(input.shape), output);
  });
}

}  // namespace ps
