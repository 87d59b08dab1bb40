// Defines the memory layouts of activations on the CPU.
#ifndef TENSOR_CPU_CPU_LAYOUT_H_
#define TENSOR_CPU_CPU_LAYOUT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "tensor/nn_kernels.h"
#include "tensor/tensor.h"

namespace ps {

// The order of [batch, channels, height, width] in memory.
enum class ChannelOrder {
  // The row-major order of the shape.
  kPlain,
  // The order batch, height, width, channels. oneDNN has fast convolutions in
  // this order for any number of channels.
  kLast,
  // The order batch, channels / b, height, width, b channels, where b is
  // BlockChannels(). It is faster by 5 to 15 % (oneDNN 2.6, AVX2), but the
  // number of channels must be a multiple of b.
  kBlocked,
};

// Returns the number of floats in oneDNN's vectors: 16 with AVX-512, else 8.
// Its convolutions for AVX-512 do not support blocks of 8, and those for AVX2
// take twice as long there.
int64_t BlockChannels();

// Returns memory in the row-major order of `shape`.
dnnl::memory::desc PlainDesc(const Shape& shape);

// Returns memory of [batch, channels, height, width] in `order`.
dnnl::memory::desc ImageDesc(const Shape& shape, ChannelOrder order);

// Returns memory in the order of `activation`.
dnnl::memory::desc MemoryDesc(const ActivationDesc& activation);

// Returns the order; kPlain for every activation that is not an image.
ChannelOrder OrderOf(const ActivationDesc& activation);

// Returns an activation [batch, channels, height, width] in `order`, or in
// plain order if the memory is the same. kBlocked requires the number of
// channels to be a multiple of BlockChannels().
ActivationDesc ImageActivation(const Shape& shape, ChannelOrder order);

// Whether an activation of this shape has the same memory layout in both
// orders.
bool OrdersCoincide(const Shape& shape, ChannelOrder a, ChannelOrder b);

// An activation of any layout as a sequence of matrices [rows, width]. The
// columns of each are consecutive channels of one image. Matrix m begins with
// channel (m % per_image) * width. For [batch, features], all rows form one
// matrix.
struct ChannelMatrices {
  explicit ChannelMatrices(const ActivationDesc& activation);

  int64_t count;
  int64_t rows;
  int64_t width;
  int64_t per_image;

  int64_t size() const { return rows * width; }
  int64_t first_channel(int64_t m) const { return m % per_image * width; }
};

// Returns the order in which other images have matrices of the same width.
ChannelOrder MatrixOrder(const ActivationDesc& images);

// Checks an activation. Errors: kInvalidArgument, starting with `what`, for a
// shape that is empty or has too many dimensions, or for a layout of another
// backend.
absl::Status CheckActivation(absl::string_view what,
                             const ActivationDesc& activation);

// Like CheckActivation, and also an error if the activation is not [batch,
// channels, height, width].
absl::Status CheckImages(absl::string_view what,
                         const ActivationDesc& activation);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_LAYOUT_H_
