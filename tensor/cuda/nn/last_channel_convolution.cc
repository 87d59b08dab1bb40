#include "tensor/cuda/nn/last_channel_convolution.h"

#include <algorithm>

#include "common/status_macros.h"
#include "tensor/cuda/layer_device/bfloat16.h"
#include "tensor/cuda/nn/last_channel_convolution_cores.h"
#include "tensor/cuda/nn/reorder_cores.h"

namespace ps {
namespace {

constexpr int64_t kFloatBytes = static_cast<int64_t>(sizeof(float));

class LastChannelConvolution final : public LibraryConvolution {
 public:
  LastChannelConvolution(LayerDevice* device,
                         const ConvolutionGeometry& geometry,
                         int64_t max_row_bytes)
      : device_(device),
        g_(geometry),
        images_are_rows_(g_.kernel_height == 1 && g_.kernel_width == 1 &&
                         g_.stride == 1 && g_.padding == 0),
        row_(g_.groups * g_.kernel_size()),
        images_(images_are_rows_
                    ? g_.batch
                    : std::clamp<int64_t>(
                          max_row_bytes / (image_elements() * kFloatBytes), 1,
                          g_.batch)) {}

  absl::Status ReserveScratch() {
    if (images_are_rows_) return absl::OkStatus();
    return device_->ReserveScratch(
        (images_ * image_elements() + g_.num_weights()) * kFloatBytes);
  }

  absl::Status Forward(const void* x, const void* weight, void* y) override {
    return ForEachChunk([&](int64_t first, int64_t images) -> absl::Status {
      PS_ASSIGN_OR_RETURN(const Bfloat16* const rows, Rows(x, first, images));
      for (int64_t group = 0; group < g_.groups; ++group) {
        MatrixProduct product;
        product.m = images * g_.out_pixels();
        product.n = group_outputs();
        product.k = g_.kernel_size();
        product.transpose_b = true;
        product.factors = product.result = Storage::kBfloat16;
        product.a = rows + group * g_.kernel_size();
        product.a_stride = row_;
        product.b = GroupWeights(weight, group);
        product.c = static_cast<Bfloat16*>(y) + FirstOutput(first, group);
        product.c_stride = g_.out_channels;
        PS_RETURN_IF_ERROR(device_->Multiply(product));
      }
      return absl::OkStatus();
    });
  }

  absl::Status BackwardData(const void* weight, const void* dy,
                            void* dx) override {
    return ForEachChunk([&](int64_t first, int64_t images) -> absl::Status {
      for (int64_t group = 0; group < g_.groups; ++group) {
        MatrixProduct product;
        product.m = images * g_.out_pixels();
        product.n = g_.kernel_size();
        product.k = group_outputs();
        product.factors = Storage::kBfloat16;
        product.a =
            static_cast<const Bfloat16*>(dy) + FirstOutput(first, group);
        product.a_stride = g_.out_channels;
        product.b = GroupWeights(weight, group);
        product.c_stride = row_;
        if (images_are_rows_) {
          product.result = Storage::kBfloat16;
          product.c = static_cast<Bfloat16*>(dx) + group * g_.kernel_size();
        } else {
          // Kept as floats, so that values are not rounded before they are
          // added up.
          product.c = row_gradients() + group * g_.kernel_size();
        }
        PS_RETURN_IF_ERROR(device_->Multiply(product));
      }
      if (images_are_rows_) return absl::OkStatus();
      const int64_t image_size = g_.channels * g_.pixels();
      const RowsGradientCore core{
          {},
          RowGeometry(g_),
          row_gradients(),
          static_cast<Bfloat16*>(dx) + first * image_size};
      return device_->Run(core, images * image_size);
    });
  }

  absl::Status BackwardWeights(const void* x, const void* dy,
                               float* dweight) override {
    // [out, kernel, in]; for a kernel of one pixel this is PyTorch's order.
    float* const sums = images_are_rows_ ? dweight : weight_gradients();
    PS_RETURN_IF_ERROR(ForEachChunk([&](int64_t first,
                                        int64_t images) -> absl::Status {
      PS_ASSIGN_OR_RETURN(const Bfloat16* const rows, Rows(x, first, images));
      for (int64_t group = 0; group < g_.groups; ++group) {
        MatrixProduct product;
        product.m = group_outputs();
        product.n = g_.kernel_size();
        product.k = images * g_.out_pixels();
        product.transpose_a = true;
        product.accumulate = first > 0;
        product.factors = Storage::kBfloat16;
        product.a =
            static_cast<const Bfloat16*>(dy) + FirstOutput(first, group);
        product.a_stride = g_.out_channels;
        product.b = rows + group * g_.kernel_size();
        product.b_stride = row_;
        product.c = sums + group * group_weights();
        PS_RETURN_IF_ERROR(device_->Multiply(product));
      }
      return absl::OkStatus();
    }));
    if (images_are_rows_) return absl::OkStatus();
    PlainOrderCore<float> core;
    core.channels = Divisor(g_.channels / g_.groups);
    core.pixels = Divisor(g_.kernel_height * g_.kernel_width);
    core.from = sums;
    core.to = dweight;
    return device_->Run(core, g_.num_weights());
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
  // Elements of one image's rows.
  int64_t image_elements() const { return row_ * g_.out_pixels(); }

  // Holds the rows in one pass, and their gradients, as floats, in another.
  float* row_gradients() const {
    return static_cast<float*>(device_->scratch());
  }
  float* weight_gradients() const {
    return row_gradients() + images_ * image_elements();
  }

  const Bfloat16* GroupWeights(const void* weight, int64_t group) const {
    return static_cast<const Bfloat16*>(weight) + group * group_weights();
  }
  // The position of the first channel of a group in an image's first pixel.
  int64_t FirstOutput(int64_t image, int64_t group) const {
    return image * g_.out_pixels() * g_.out_channels + group * group_outputs();
  }

  absl::StatusOr<const Bfloat16*> Rows(const void* x, int64_t first,
                                       int64_t images) {
    const Bfloat16* const from =
        static_cast<const Bfloat16*>(x) + first * g_.channels * g_.pixels();
    if (images_are_rows_) return from;
    Bfloat16* const rows = static_cast<Bfloat16*>(device_->scratch());
    const RowsCore core{{}, RowGeometry(g_), from, rows};
    PS_RETURN_IF_ERROR(device_->Run(core, images * image_elements()));
    return rows;
  }

  LayerDevice* const device_;  // Not owned.
  const ConvolutionGeometry g_;
  const bool images_are_rows_;
  const int64_t row_;     // Elements of a row.
  const int64_t images_;  // Images per product.
};

}  // namespace

absl::StatusOr<std::unique_ptr<LibraryConvolution>> PlanLastChannelConvolution(
    LayerDevice* device, const ConvolutionGeometry& geometry,
    int64_t max_row_bytes) {
  auto convolution =
      std::make_unique<LastChannelConvolution>(device, geometry, max_row_bytes);
  PS_RETURN_IF_ERROR(convolution->ReserveScratch());
  return convolution;
}

}  // namespace ps
