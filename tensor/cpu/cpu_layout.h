// The layouts of activations on the CPU.
#ifndef TENSOR_CPU_CPU_LAYOUT_H_
#define TENSOR_CPU_CPU_LAYOUT_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "tensor/nn_kernels.h"
#include "tensor/tensor.h"

namespace ps {

// How [batch, channels, height, width] lies in memory.
enum class ChannelOrder {
  // Row-major order of the shape.
  kPlain,
  // Batch, height, width, channels: oneDNN has fast convolutions for any number
  // of channels.
  kLast,
  // Batch, channels / b, height, width, b channels, where b is BlockChannels():
  // faster by 5 to 15 % (oneDNN 2.6, AVX2), where the channels are a multiple
  // of
  // b.
  kBlocked,
};

// As many channels as oneDNN's vectors have floats: 16 with AVX-512, else 8.
// Its convolutions for AVX-512 take no blocks of 8; those for AVX2 need twice
// the time there.
int64_t BlockChannels();

// Memory in row-major order of `shape`.
dnnl::memory::desc PlainDesc(const Shape& shape);

// [batch, channels, height, width] in `order`.
dnnl::memory::desc ImageDesc(const Shape& shape, ChannelOrder order);

// `activation`'s own order.
dnnl::memory::desc MemoryDesc(const ActivationDesc& activation);

// kPlain for every activation that is not an image.
ChannelOrder OrderOf(const ActivationDesc& activation);

// An activation [batch, channels, height, width] in `order`, which is plain
// where that makes no difference. For kBlocked: channels a multiple of
// BlockChannels().
ActivationDesc ImageActivation(const Shape& shape, ChannelOrder order);

// Whether an activation of this shape is the same memory in both orders.
bool OrdersCoincide(const Shape& shape, ChannelOrder a, ChannelOrder b);

// An activation of any layout as a sequence of matrices [rows, width], the
// columns of each being consecutive channels of one image. Matrix m begins with
// channel (m % per_image) * width. Of [batch, features] all rows are one
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

// The order in which images of another size have matrices of the same width.
ChannelOrder MatrixOrder(const ActivationDesc& images);

// Errors: kInvalidArgument, starting with `what`, for a shape that holds
// nothing or has too many dimensions, or a layout that is not of this backend.
absl::Status CheckActivation(absl::string_view what,
                             const ActivationDesc& activation);

// Also errors: an activation that is not [batch, channels, height, width].
absl::Status CheckImages(absl::string_view what,
                         const ActivationDesc& activation);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_LAYOUT_H_
