// A convolution as matrix products, one image at a time. The *rows* are [out
// pixels, groups x kernel size]; each row holds the inputs of one output pixel.
// The outputs are [out pixels, out channels]. Each pass is one product for each
// group:
//   outputs = rows weight', drows = doutputs weight, dweight = doutputs' rows.
// (Chellapilla, Puri, Simard, "High performance convolutional neural networks
// for document processing", 2006.)
//
// With the channels last, the kernel is [kernel pixels, channels] in rows and
// weights. In plain images it is [channels, kernel pixels], and the outputs are
// stored as their transpose.

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "common/status_macros.h"
#include "tensor/cuda/layer_device/divisor.h"
#include "tensor/cuda/layer_device/matrix_product.h"
#include "tensor/cuda/nn/convolution_products.h"
#include "tensor/cuda/nn/gather.cuh"
#include "tensor/cuda/nn/image_array.cuh"
#include "tensor/cuda/nn/reorder.h"

namespace ps {
namespace {

// The rows of an image.
struct ConvolutionRows {
  ConvolutionRows(Storage storage, const ConvolutionGeometry& g)
      : image(storage, {1, g.channels, g.height, g.width}),
        rows(storage, {g.out_pixels() * g.groups, g.group_channels(),
                       g.kernel_height, g.kernel_width}),
        groups(g.groups),
        out_width(g.out_width),
        stride(g.stride),
        out_height(g.out_height),
        padding(g.padding) {}

  // The image's element that belongs at place i of the rows; 0 in the padding.
  template <typename T>
  __device__ float Output(int64_t i, const T* x) const {
    ImagePixel p = rows.At(i);
    int64_t group = 0, out_column = 0;
    const int64_t out_row =
        out_width.Divide(groups.Divide(p.image, &group), &out_column);
    p.image = 0;
    p.channel += group * rows.channels.value();
    p.row += out_row * stride.value() - padding;
    p.column += out_column * stride.value() - padding;
    if (p.row < 0 || p.row >= image.height.value() || p.column < 0 ||
        p.column >= image.width.value()) {
      return 0;
    }
    return x[image.Place(p)];
  }

  // The gradient of the image's element at place i: its contributions are added
  // in the kernel's order.
  __device__ float InputGradient(int64_t i, const float* drows) const {
    const ImagePixel p = image.At(i);
    ImagePixel from;
    const int64_t group = rows.channels.Divide(p.channel, &from.channel);
    float sum = 0;
    for (; from.row < rows.height.value(); ++from.row) {
      const int64_t out_row = OutPlace(p.row - from.row, out_height);
      if (out_row < 0) continue;
      for (from.column = 0; from.column < rows.width.value(); ++from.column) {
        const int64_t out_column =
            OutPlace(p.column - from.column, out_width.value());
        if (out_column < 0) continue;
        from.image =
            (out_row * out_width.value() + out_column) * groups.value() + group;
        sum += drows[rows.Place(from)];
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

  ImageArray image;
  ImageArray rows;  // An "image" is the kernel of a group at an out pixel.
  Divisor groups;
  Divisor out_width;
  Divisor stride;
  int64_t out_height;
  int64_t padding;
};

// T is the type of images and weights.
template <typename T>
class ConvolutionProducts final : public ConvolutionPasses {
 public:
  ConvolutionProducts(LayerDevice* device, const ConvolutionGeometry& geometry)
      : device_(device), g_(geometry), map_(device->storage(), geometry) {}

  absl::Status ReserveScratch() {
    return device_->ReserveScratch(
        (num_rows() + (kChannelsLast ? g_.num_weights() : 0)) *
        static_cast<int64_t>(sizeof(float)));
  }

  absl::Status Forward(const void* x, const void* weight, void* y) override {
    for (int64_t image = 0; image < g_.batch; ++image) {
      PS_RETURN_IF_ERROR(MakeRows(x, image));
      for (int64_t group = 0; group < g_.groups; ++group) {
        PS_RETURN_IF_ERROR(Multiply(
            {g_.out_pixels(), group_outputs(), g_.kernel_size()},
            Rows<T>(group), Transposed(Weights<const T>(weight, group)),
            Outputs<T>(y, image, group)));
      }
    }
    return absl::OkStatus();
  }

  absl::Status BackwardData(const void* weight, const void* dy,
                            void* dx) override {
    for (int64_t image = 0; image < g_.batch; ++image) {
      for (int64_t group = 0; group < g_.groups; ++group) {
        // Kept as floats, so that values are not rounded before they are added
        // up.
        PS_RETURN_IF_ERROR(
            Multiply({g_.out_pixels(), g_.kernel_size(), group_outputs()},
                     Outputs<const T>(dy, image, group),
                     Weights<const T>(weight, group), Rows<float>(group)));
      }
      const int64_t n = g_.channels * g_.pixels();
      PS_RETURN_IF_ERROR(
          GatherInputGradients(device_, "ConvolutionRows", n, map_,
                               static_cast<const float*>(device_->scratch()),
                               static_cast<T*>(dx) + image * n));
    }
    return absl::OkStatus();
  }

  absl::Status BackwardWeights(const void* x, const void* dy,
                               float* dweight) override {
    float* const sums =
        kChannelsLast ? static_cast<float*>(device_->scratch()) + num_rows()
                      : dweight;
    for (int64_t image = 0; image < g_.batch; ++image) {
      PS_RETURN_IF_ERROR(MakeRows(x, image));
      for (int64_t group = 0; group < g_.groups; ++group) {
        PS_RETURN_IF_ERROR(
            Multiply({group_outputs(), g_.kernel_size(), g_.out_pixels()},
                     Transposed(Outputs<const T>(dy, image, group)),
                     Rows<T>(group), Weights<float>(sums, group), image > 0));
      }
    }
    if (!kChannelsLast) return absl::OkStatus();
    return ToPlainOrder<float>(
        device_, {g_.num_weights(), g_.group_channels(), g_.kernel_pixels()},
        sums, dweight);
  }

 private:
  static constexpr bool kChannelsLast = std::is_same_v<T, Bfloat16>;

  // A matrix, or its transpose, whose rows in memory are `stride` elements
  // apart.
  template <typename Element>
  struct Matrix {
    Element* data;
    int64_t stride;
    bool is_transposed;
  };
  template <typename Element>
  static Matrix<Element> Transposed(Matrix<Element> m) {
    m.is_transposed = !m.is_transposed;
    return m;
  }
  struct Extents {
    int64_t m, n, k;
  };

  // c [m, n] = a [m, k] b [k, n], or c += a b.
  template <typename A, typename B, typename C>
  absl::Status Multiply(const Extents& extents, const Matrix<A>& a,
                        const Matrix<B>& b, const Matrix<C>& c,
                        bool accumulate = false) {
    if (c.is_transposed) {
      return Multiply({extents.n, extents.m, extents.k}, Transposed(b),
                      Transposed(a), Transposed(c), accumulate);
    }
    MatrixProduct p;
    p.m = extents.m, p.n = extents.n, p.k = extents.k;
    p.transpose_a = a.is_transposed, p.transpose_b = b.is_transposed;
    p.accumulate = accumulate;
    p.a_stride = a.stride, p.b_stride = b.stride, p.c_stride = c.stride;
    p.factors = device_->storage();
    p.result = std::is_same_v<C, float> ? Storage::kFloat : p.factors;
    p.a = a.data, p.b = b.data, p.c = c.data;
    return device_->Multiply(p);
  }

  int64_t group_outputs() const { return g_.out_channels / g_.groups; }
  int64_t row_size() const { return g_.groups * g_.kernel_size(); }
  int64_t num_rows() const { return row_size() * g_.out_pixels(); }

  // The rows of an image, or their gradients, in the scratch, and then the
  // gradients of weights with the channels last.
  absl::Status MakeRows(const void* x, int64_t image) {
    return GatherOutputs(
        device_, "ConvolutionRows", num_rows(), map_,
        static_cast<const T*>(x) + image * g_.channels * g_.pixels(),
        static_cast<T*>(device_->scratch()));
  }

  // The parts of a group.
  template <typename Element>
  Matrix<Element> Rows(int64_t group) const {
    return {
        static_cast<Element*>(device_->scratch()) + group * g_.kernel_size(),
        row_size(), false};
  }
  template <typename Element, typename Pointer>
  Matrix<Element> Weights(Pointer* weights, int64_t group) const {
    return {static_cast<Element*>(weights) +
                group * group_outputs() * g_.kernel_size(),
            g_.kernel_size(), false};
  }
  template <typename Element, typename Pointer>
  Matrix<Element> Outputs(Pointer* outputs, int64_t image,
                          int64_t group) const {
    Element* const of_image = static_cast<Element*>(outputs) +
                              image * g_.out_channels * g_.out_pixels();
    const int64_t channel = group * group_outputs();
    if (kChannelsLast) return {of_image + channel, g_.out_channels, false};
    return {of_image + channel * g_.out_pixels(), g_.out_pixels(), true};
  }

  LayerDevice* const device_;  // Not owned.
  const ConvolutionGeometry g_;
  const ConvolutionRows map_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ConvolutionPasses>> PlanConvolutionProducts(
    LayerDevice* device, const ConvolutionGeometry& geometry) {
  using Planned = absl::StatusOr<std::unique_ptr<ConvolutionPasses>>;
  return WithElementOf(device->storage(), [&](auto element) -> Planned {
    auto convolution = std::make_unique<ConvolutionProducts<decltype(element)>>(
        device, geometry);
    PS_RETURN_IF_ERROR(convolution->ReserveScratch());
    return convolution;
  });
}

}  // namespace ps
