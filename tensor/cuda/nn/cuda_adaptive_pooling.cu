// Averages over parts of images, which may overlap, and over whole images, on
// CUDA.

#include <cstdint>
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

// One direction: `extent` is divided into `parts` parts, where part i is
// [floor(i extent / parts), ceil((i + 1) extent / parts)).
struct Parts {
  int64_t extent;
  int64_t parts;

  __device__ IndexRange Inputs(int64_t part) const {
    return {part * extent / parts, ((part + 1) * extent + parts - 1) / parts};
  }

  // The parts that contain input i: those with i < ceil((part + 1) extent /
  // parts) and floor(part extent / parts) <= i.
  __device__ IndexRange Containing(int64_t i) const {
    return {i * parts / extent, ((i + 1) * parts + extent - 1) / extent};
  }
};

// The share of each input in the mean of rows x columns.
__device__ inline float Share(const IndexRange& r, const IndexRange& c) {
  return 1 / static_cast<float>((r.end - r.begin) * (c.end - c.begin));
}

template <typename T>
class CudaAdaptivePooling final : public UnaryOp {
 public:
  CudaAdaptivePooling(LayerDevice* device, Storage storage, const Shape& input,
                      ActivationDesc output)
      : device_(device),
        num_inputs_(NumElements(input)),
        output_(std::move(output)),
        geometry_{{input[2], output_.shape[2]},
                  {input[3], output_.shape[3]},
                  ImagePlanes(storage, input),
                  ImagePlanes(storage, output_.shape)} {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* memory, float* result) override {
    const Geometry g = geometry_;
    const T* const x = Elements<T>(memory);
    T* const y = Elements<T>(result);
    return LaunchElements(
        device_, "AdaptivePool", NumElements(output_.shape),
        [=] __device__(int64_t i) {
          const ImagePlanes::Pixel out = g.out.At(i);
          const IndexRange rows = g.rows.Inputs(out.row);
          const IndexRange columns = g.columns.Inputs(out.column);
          float sum = 0;
          for (int64_t h = rows.begin; h < rows.end; ++h) {
            for (int64_t w = columns.begin; w < columns.end; ++w) {
              sum += x[g.in.Place(out, h, w)];
            }
          }
          y[i] = sum * Share(rows, columns);
        });
  }

  absl::Status Backward(const float*, const float*, const float* gradient,
                        float* result) override {
    const Geometry g = geometry_;
    const T* const dy = Elements<T>(gradient);
    T* const dx = Elements<T>(result);
    return LaunchElements(
        device_, "AdaptivePoolGradient", num_inputs_,
        [=] __device__(int64_t i) {
          const ImagePlanes::Pixel in = g.in.At(i);
          const IndexRange rows = g.rows.Containing(in.row);
          const IndexRange columns = g.columns.Containing(in.column);
          float sum = 0;
          for (int64_t h = rows.begin; h < rows.end; ++h) {
            for (int64_t w = columns.begin; w < columns.end; ++w) {
              sum += dy[g.out.Place(in, h, w)] *
                     Share(g.rows.Inputs(h), g.columns.Inputs(w));
            }
          }
          dx[i] = sum;
        });
  }

  struct Geometry {
    Parts rows;
    Parts columns;
    ImagePlanes in;
    ImagePlanes out;
  };

 private:
  LayerDevice* const device_;  // Not owned.
  const int64_t num_inputs_;
  const ActivationDesc output_;
  const Geometry geometry_;
};

// Means of the pixels of planes with inner = 1, which are adjacent. A warp
// shares a plane, so that small images leave few threads idle.
template <typename T>
__global__ void __launch_bounds__(kBlockThreads)
    PlaneMeansKernel(int64_t planes, int64_t pixels, const T* x, T* means) {
  const int64_t plane = GridThread() / warpSize;
  if (plane >= planes) return;
  const int lane = static_cast<int>(threadIdx.x) % warpSize;
  float sum = 0;
  for (int64_t i = lane; i < pixels; i += warpSize) {
    sum += x[plane * pixels + i];
  }
  // The whole warp has this plane.
  for (int half = warpSize / 2; half > 0; half /= 2) {
    sum += __shfl_down_sync(0xffffffff, sum, half);
  }
  if (lane == 0) means[plane] = sum / static_cast<float>(pixels);
}

template <typename T>
class CudaGlobalPooling final : public UnaryOp {
 public:
  CudaGlobalPooling(LayerDevice* device, Storage storage, const Shape& input,
                    ActivationDesc output)
      : device_(device),
        pixels_(input[2] * input[3]),
        inner_(storage == Storage::kBfloat16 ? input[1] : 1),
        output_(std::move(output)) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(const float* memory, float* result) override {
    const int64_t n = NumElements(output_.shape);
    if (inner_.value() == 1) return PlaneMeans(n, memory, result);
    // Adjacent threads read adjacent channels.
    const int64_t pixels = pixels_.value();
    const Divisor inner = inner_;
    const T* const x = Elements<T>(memory);
    T* const means = Elements<T>(result);
    return LaunchElements(
        device_, "ChannelMeans", n, [=] __device__(int64_t i) {
          int64_t channel = 0;
          const int64_t image = inner.Divide(i, &channel);
          const T* const first = x + image * pixels * inner.value() + channel;
          float sum = 0;
          for (int64_t p = 0; p < pixels; ++p) sum += first[p * inner.value()];
          means[i] = sum / static_cast<float>(pixels);
        });
  }

  absl::Status Backward(const float*, const float*, const float* gradient,
                        float* result) override {
    const Divisor pixels = pixels_, inner = inner_;
    const float share = 1 / static_cast<float>(pixels.value());
    const T* const dy = Elements<T>(gradient);
    T* const dx = Elements<T>(result);
    return LaunchElements(
        device_, "MeansGradient", NumElements(output_.shape) * pixels.value(),
        [=] __device__(int64_t i) {
          int64_t place = 0;
          const int64_t plane = pixels.Quotient(inner.Divide(i, &place));
          dx[i] = dy[plane * inner.value() + place] * share;
        });
  }

 private:
  absl::Status PlaneMeans(int64_t planes, const float* x, float* means) {
    constexpr int64_t kWarp = 32;
    return LaunchKernel(device_, "PlaneMeans", BlocksFor(planes * kWarp),
                        PlaneMeansKernel<T>, planes, pixels_.value(),
                        Elements<T>(x), Elements<T>(means));
  }

  LayerDevice* const device_;  // Not owned.
  const Divisor pixels_;
  const Divisor inner_;  // See image_planes.cuh.
  const ActivationDesc output_;
};

}  // namespace

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
  return WithElementOf(storage, [&](auto element) -> std::unique_ptr<UnaryOp> {
    return std::make_unique<CudaAdaptivePooling<decltype(element)>>(
        device(), storage, input.shape,
        CudaActivation(
            storage, {input.shape[0], input.shape[1], out_height, out_width}));
  });
}

absl::StatusOr<std::unique_ptr<UnaryOp>> CudaNnKernels::PlanGlobalPooling(
    const ActivationDesc& input) {
  PS_ASSIGN_OR_RETURN(
      const Storage storage,
      CheckCudaImages(
          absl::StrCat("global pooling of ", ShapeString(input.shape)), input));
  return WithElementOf(storage, [&](auto element) -> std::unique_ptr<UnaryOp> {
    return std::make_unique<CudaGlobalPooling<decltype(element)>>(
        device(), storage, input.shape,
        CudaActivation(storage, {input.shape[0], input.shape[1]}));
  });
}

}  // namespace ps
