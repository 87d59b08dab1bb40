// A convolution as matrix products. The *rows* are [images x out pixels, groups
// x kernel size]; each row holds the inputs of one output pixel. The outputs
// are [images x out pixels, out channels]. Each pass is one product per group:
//   output = rows weight', drows = doutput weight, dweight = doutput' rows.
// (Chellapilla, Puri, Simard, "High performance convolutional neural networks
// for document processing", 2006.)
//
// With the channels last, the outputs are as they lie in memory, and the kernel
// is [kernel pixels, channels] in rows and weights. Plain outputs are
// reordered, and the kernel is [channels, kernel pixels].

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "common/status_macros.h"
#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/elementwise.cuh"
#include "tensor/cuda/layer_device/matrix_product.h"
#include "tensor/cuda/nn/convolution_products.h"
#include "tensor/cuda/nn/reorder.h"

namespace ps {
namespace {

constexpr int64_t kFloatBytes = static_cast<int64_t>(sizeof(float));

// The places of elements in images and rows.
template <bool kChannelsLast>
struct RowGeometry {
  explicit RowGeometry(const ConvolutionGeometry& g)
      : channels(g.channels),
        group_channels(g.group_channels()),
        groups(g.groups),
        height(g.height),
        width(g.width),
        out_height(g.out_height),
        out_width(g.out_width),
        kernel_height(g.kernel_height),
        kernel_width(g.kernel_width),
        stride(g.stride),
        padding(g.padding) {}

  // The place of the image's element that belongs at place i of the rows, or -1
  // in the padding.
  __device__ int64_t Source(int64_t i) const {
    int64_t channel = 0, kernel_column = 0, kernel_row = 0, group = 0,
            out_column = 0, out_row = 0;
    if (kChannelsLast) i = group_channels.Divide(i, &channel);
    i = kernel_width.Divide(i, &kernel_column);
    i = kernel_height.Divide(i, &kernel_row);
    if (!kChannelsLast) i = group_channels.Divide(i, &channel);
    i = groups.Divide(i, &group);
    i = out_width.Divide(i, &out_column);
    const int64_t image = out_height.Divide(i, &out_row);
    const int64_t h = out_row * stride.value() + kernel_row - padding;
    const int64_t w = out_column * stride.value() + kernel_column - padding;
    if (h < 0 || h >= height.value() || w < 0 || w >= width.value()) return -1;
    channel += group * group_channels.value();
    if (kChannelsLast) {
      return ((image * height.value() + h) * width.value() + w) *
                 channels.value() +
             channel;
    }
    return ((image * channels.value() + channel) * height.value() + h) *
               width.value() +
           w;
  }

  // The gradient of the image's element at place i: its contributions are added
  // in the kernel's order.
  __device__ float Gradient(int64_t i, const float* drows) const {
    int64_t channel = 0, h = 0, w = 0, group_channel = 0;
    if (kChannelsLast) i = channels.Divide(i, &channel);
    i = width.Divide(i, &w);
    int64_t image = height.Divide(i, &h);
    if (!kChannelsLast) image = channels.Divide(image, &channel);
    const int64_t group = group_channels.Divide(channel, &group_channel);
    float sum = 0;
    for (int64_t row = 0; row < kernel_height.value(); ++row) {
      const int64_t out_row = OutPlace(h - row, out_height.value());
      if (out_row < 0) continue;
      for (int64_t column = 0; column < kernel_width.value(); ++column) {
        const int64_t out_column = OutPlace(w - column, out_width.value());
        if (out_column < 0) continue;
        const int64_t pixel =
            (image * out_height.value() + out_row) * out_width.value() +
            out_column;
        const int64_t kernel_pixel = row * kernel_width.value() + column;
        const int64_t kernel_pixels =
            kernel_height.value() * kernel_width.value();
        const int64_t first = (pixel * groups.value() + group) * kernel_pixels *
                              group_channels.value();
        sum +=
            drows[first +
                  (kChannelsLast
                       ? kernel_pixel * group_channels.value() + group_channel
                       : group_channel * kernel_pixels + kernel_pixel)];
      }
    }
    return sum;
  }

  // The output whose window begins at `begin` of the unpadded input; -1 if
  // there is none.
  __device__ int64_t OutPlace(int64_t begin, int64_t out_extent) const {
    if (begin + padding < 0) return -1;
    int64_t rest = 0;
    const int64_t place = stride.Divide(begin + padding, &rest);
    return rest == 0 && place < out_extent ? place : -1;
  }

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

template <typename T>
absl::Status MakeRows(LayerDevice* device, const ConvolutionGeometry& geometry,
                      int64_t n, const T* x, T* rows) {
  const RowGeometry<std::is_same_v<T, Bfloat16>> g(geometry);
  return LaunchElements(device, "ConvolutionRows", n,
                        [=] __device__(int64_t i) {
                          const int64_t source = g.Source(i);
                          rows[i] = source < 0 ? T(0.0f) : x[source];
                        });
}

template <typename T>
absl::Status AddRowGradients(LayerDevice* device,
                             const ConvolutionGeometry& geometry, int64_t n,
                             const float* drows, T* dx) {
  const RowGeometry<std::is_same_v<T, Bfloat16>> g(geometry);
  return LaunchElements(
      device, "ConvolutionRowsGradient", n,
      [=] __device__(int64_t i) { dx[i] = g.Gradient(i, drows); });
}

template <typename T>
class ConvolutionProducts final : public ConvolutionPasses {
 public:
  ConvolutionProducts(LayerDevice* device, const ConvolutionGeometry& geometry,
                      int64_t max_row_bytes)
      : device_(device),
        g_(geometry),
        row_(g_.groups * g_.kernel_size()),
        images_(std::clamp<int64_t>(
            max_row_bytes / (image_rows() * kFloatBytes), 1, g_.batch)) {}

  absl::Status ReserveScratch() {
    return device_->ReserveScratch(
        (images_ * image_rows() +
         (kChannelsLast ? g_.num_weights() : images_ * image_outputs())) *
        kFloatBytes);
  }

  absl::Status Forward(const void* x, const void* weight, void* y) override {
    return ForEachChunk([&](int64_t first, int64_t images) -> absl::Status {
      PS_ASSIGN_OR_RETURN(const T* const rows, Rows(x, first, images));
      T* const result = static_cast<T*>(y) + first * image_outputs();
      T* outputs = result;
      if constexpr (!kChannelsLast) outputs = after_rows();
      for (int64_t group = 0; group < g_.groups; ++group) {
        MatrixProduct product;
        product.m = images * g_.out_pixels();
        product.n = group_outputs();
        product.k = g_.kernel_size();
        product.transpose_b = true;
        product.factors = product.result = device_->storage();
        product.a = rows + group * g_.kernel_size();
        product.a_stride = row_;
        product.b = GroupWeights(weight, group);
        product.c = outputs + group * group_outputs();
        product.c_stride = g_.out_channels;
        PS_RETURN_IF_ERROR(device_->Multiply(product));
      }
      if constexpr (!kChannelsLast) {
        PS_RETURN_IF_ERROR(
            ToPlainOrder(device_, OutputOrder(images), after_rows(), result));
      }
      return absl::OkStatus();
    });
  }

  absl::Status BackwardData(const void* weight, const void* dy,
                            void* dx) override {
    return ForEachChunk([&](int64_t first, int64_t images) -> absl::Status {
      PS_ASSIGN_OR_RETURN(const T* const outputs,
                          TakeOutputs(dy, first, images));
      T* const result = static_cast<T*>(dx) + first * image_inputs();
      for (int64_t group = 0; group < g_.groups; ++group) {
        MatrixProduct product;
        product.m = images * g_.out_pixels();
        product.n = g_.kernel_size();
        product.k = group_outputs();
        product.factors = device_->storage();
        product.a = outputs + group * group_outputs();
        product.a_stride = g_.out_channels;
        product.b = GroupWeights(weight, group);
        product.c_stride = row_;
        // Kept as floats, so that values are not rounded before they are
        // added up.
        product.c = row_gradients() + group * g_.kernel_size();
        PS_RETURN_IF_ERROR(device_->Multiply(product));
      }
      return AddRowGradients(device_, g_, images * image_inputs(),
                             row_gradients(), result);
    });
  }

  absl::Status BackwardWeights(const void* x, const void* dy,
                               float* dweight) override {
    float* const sums = kChannelsLast ? after_rows() : dweight;
    PS_RETURN_IF_ERROR(
        ForEachChunk([&](int64_t first, int64_t images) -> absl::Status {
          PS_ASSIGN_OR_RETURN(const T* const rows, Rows(x, first, images));
          PS_ASSIGN_OR_RETURN(const T* const outputs,
                              TakeOutputs(dy, first, images));
          for (int64_t group = 0; group < g_.groups; ++group) {
            MatrixProduct product;
            product.m = group_outputs();
            product.n = g_.kernel_size();
            product.k = images * g_.out_pixels();
            product.transpose_a = true;
            product.accumulate = first > 0;
            product.factors = device_->storage();
            product.a = outputs + group * group_outputs();
            product.a_stride = g_.out_channels;
            product.b = rows + group * g_.kernel_size();
            product.b_stride = row_;
            product.c = sums + group * group_weights();
            PS_RETURN_IF_ERROR(device_->Multiply(product));
          }
          return absl::OkStatus();
        }));
    if (!kChannelsLast) return absl::OkStatus();
    return ToPlainOrder<float>(
        device_, {g_.num_weights(), g_.group_channels(), g_.kernel_pixels()},
        sums, dweight);
  }

 private:
  static constexpr bool kChannelsLast = std::is_same_v<T, Bfloat16>;

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
  // Elements of one image: its rows, its inputs and its outputs.
  int64_t image_rows() const { return row_ * g_.out_pixels(); }
  int64_t image_inputs() const { return g_.channels * g_.pixels(); }
  int64_t image_outputs() const { return g_.out_channels * g_.out_pixels(); }

  // The scratch: the rows in one pass, and their gradients, as floats, in
  // another; then the gradients of weights with the channels last, or outputs
  // of plain images.
  float* row_gradients() const {
    return static_cast<float*>(device_->scratch());
  }
  float* after_rows() const { return row_gradients() + images_ * image_rows(); }

  ChannelOrder OutputOrder(int64_t images) const {
    return {images * image_outputs(), g_.out_channels, g_.out_pixels()};
  }
  const T* GroupWeights(const void* weight, int64_t group) const {
    return static_cast<const T*>(weight) + group * group_weights();
  }

  absl::StatusOr<const T*> Rows(const void* x, int64_t first, int64_t images) {
    const T* const from = static_cast<const T*>(x) + first * image_inputs();
    T* const rows = static_cast<T*>(device_->scratch());
    PS_RETURN_IF_ERROR(
        MakeRows(device_, g_, images * image_rows(), from, rows));
    return rows;
  }

  // The outputs' gradients with the channels last.
  absl::StatusOr<const T*> TakeOutputs(const void* dy, int64_t first,
                                       int64_t images) {
    const T* const from = static_cast<const T*>(dy) + first * image_outputs();
    if constexpr (kChannelsLast) {
      return from;
    } else {
      PS_RETURN_IF_ERROR(
          ToChannelsLast(device_, OutputOrder(images), from, after_rows()));
      return after_rows();
    }
  }

  LayerDevice* const device_;  // Not owned.
  const ConvolutionGeometry g_;
  const int64_t row_;     // Elements of a row.
  const int64_t images_;  // Images per product.
};

}  // namespace

absl::StatusOr<std::unique_ptr<ConvolutionPasses>> PlanConvolutionProducts(
    LayerDevice* device, const ConvolutionGeometry& geometry,
    int64_t max_row_bytes) {
  using Planned = absl::StatusOr<std::unique_ptr<ConvolutionPasses>>;
  return WithElementOf(device->storage(), [&](auto element) -> Planned {
    auto convolution = std::make_unique<ConvolutionProducts<decltype(element)>>(
        device, geometry, max_row_bytes);
    PS_RETURN_IF_ERROR(convolution->ReserveScratch());
    return convolution;
  });
}

}  // namespace ps
