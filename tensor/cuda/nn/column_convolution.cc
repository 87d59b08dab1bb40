#include "tensor/cuda/nn/column_convolution.h"

#include <algorithm>

#include "common/status_macros.h"
#include "tensor/cuda/nn/convolution_cores.h"

namespace ps {
namespace {

constexpr int64_t kFloatBytes = static_cast<int64_t>(sizeof(float));

class ColumnConvolution final : public LibraryConvolution {
 public:
  ColumnConvolution(LayerDevice* device, const ConvolutionGeometry& geometry,
                    int64_t max_column_bytes)
      : device_(device),
        g_(geometry),
        image_columns_(g_.groups * g_.kernel_size() * g_.out_pixels()),
        image_outputs_(g_.out_channels * g_.out_pixels()),
        images_(std::clamp<int64_t>(
            max_column_bytes / (image_columns_ * kFloatBytes), 1, g_.batch)) {}

  absl::Status ReserveScratch() {
    return device_->ReserveScratch(images_ * (image_columns_ + image_outputs_) *
                                   kFloatBytes);
  }

  absl::Status Forward(const void* x, const void* weights, void* y) override {
    const float* const weight = static_cast<const float*>(weights);
    return ForEachChunk([&](int64_t first, int64_t images) -> absl::Status {
      PS_RETURN_IF_ERROR(MakeColumns(x, first, images));
      for (int64_t group = 0; group < g_.groups; ++group) {
        MatrixProduct product;
        product.m = group_outputs();
        product.n = images * g_.out_pixels();
        product.k = g_.kernel_size();
        product.a = weight + group * group_weights();
        product.b = GroupColumns(group, images);
        product.c = GroupOutputs(group, images);
        PS_RETURN_IF_ERROR(device_->Multiply(product));
      }
      ImagesFirstCore core;
      core.images = Divisor(images);
      core.channels = Divisor(g_.out_channels);
      core.pixels = Divisor(g_.out_pixels());
      core.from = outputs();
      core.to = static_cast<float*>(y) + first * image_outputs_;
      return device_->Run(core, images * image_outputs_);
    });
  }

  absl::Status BackwardData(const void* weights, const void* dy,
                            void* dx) override {
    const float* const weight = static_cast<const float*>(weights);
    return ForEachChunk([&](int64_t first, int64_t images) -> absl::Status {
      PS_RETURN_IF_ERROR(TakeOutputs(dy, first, images));
      for (int64_t group = 0; group < g_.groups; ++group) {
        MatrixProduct product;
        product.m = g_.kernel_size();
        product.n = images * g_.out_pixels();
        product.k = group_outputs();
        product.transpose_a = true;
        product.a = weight + group * group_weights();
        product.b = GroupOutputs(group, images);
        product.c = GroupColumns(group, images);
        PS_RETURN_IF_ERROR(device_->Multiply(product));
      }
      const int64_t image_size = g_.channels * g_.pixels();
      ColumnsGradientCore core{{},
                               ColumnGeometry(g_, images),
                               columns(),
                               static_cast<float*>(dx) + first * image_size};
      return device_->Run(core, images * image_size);
    });
  }

  absl::Status BackwardWeights(const void* x, const void* dy,
                               float* dweight) override {
    return ForEachChunk([&](int64_t first, int64_t images) -> absl::Status {
      PS_RETURN_IF_ERROR(MakeColumns(x, first, images));
      PS_RETURN_IF_ERROR(TakeOutputs(dy, first, images));
      for (int64_t group = 0; group < g_.groups; ++group) {
        MatrixProduct product;
        product.m = group_outputs();
        product.n = g_.kernel_size();
        product.k = images * g_.out_pixels();
        product.transpose_b = true;
        product.accumulate = first > 0;
        product.a = GroupOutputs(group, images);
        product.b = GroupColumns(group, images);
        product.c = dweight + group * group_weights();
        PS_RETURN_IF_ERROR(device_->Multiply(product));
      }
      return absl::OkStatus();
    });
  }

 private:
  // Calls body(first image, images) for all images, in their order.
  template <typename Body>
  absl::Status ForEachChunk(const Body& body) {
    for (int64_t first = 0; first < g_.batch; first += images_) {
      PS_RETURN_IF_ERROR(body(first, std::min(images_, g_.batch - first)));
    }
    return absl::OkStatus();
  }

  int64_t group_outputs() const { return g_.out_channels / g_.groups; }
  int64_t group_weights() const { return group_outputs() * g_.kernel_size(); }

  // [groups, kernel size, images, out pixels]
  float* columns() const { return static_cast<float*>(device_->scratch()); }
  // [out channels, images, out pixels]
  float* outputs() const { return columns() + images_ * image_columns_; }

  float* GroupColumns(int64_t group, int64_t images) const {
    return columns() + group * g_.kernel_size() * images * g_.out_pixels();
  }
  float* GroupOutputs(int64_t group, int64_t images) const {
    return outputs() + group * group_outputs() * images * g_.out_pixels();
  }

  absl::Status MakeColumns(const void* x, int64_t first, int64_t images) {
    const ColumnsCore core{
        {},
        ColumnGeometry(g_, images),
        static_cast<const float*>(x) + first * g_.channels * g_.pixels(),
        columns()};
    return device_->Run(core, images * image_columns_);
  }

  absl::Status TakeOutputs(const void* dy, int64_t first, int64_t images) {
    ChannelsFirstCore core;
    core.images = Divisor(images);
    core.channels = Divisor(g_.out_channels);
    core.pixels = Divisor(g_.out_pixels());
    core.from = static_cast<const float*>(dy) + first * image_outputs_;
    core.to = outputs();
    return device_->Run(core, images * image_outputs_);
  }

  LayerDevice* const device_;  // Not owned.
  const ConvolutionGeometry g_;
  const int64_t image_columns_;  // Elements of the columns of one image.
  const int64_t image_outputs_;
  const int64_t images_;  // Images per product.
};

}  // namespace

absl::StatusOr<std::unique_ptr<LibraryConvolution>> PlanColumnConvolution(
    LayerDevice* device, const ConvolutionGeometry& geometry,
    int64_t max_column_bytes) {
  auto convolution =
      std::make_unique<ColumnConvolution>(device, geometry, max_column_bytes);
  PS_RETURN_IF_ERROR(convolution->ReserveScratch());
  return convolution;
}

}  // namespace ps
