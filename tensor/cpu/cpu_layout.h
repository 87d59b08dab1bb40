// The two layouts of activations on the CPU: plain, and channels last, in which
// oneDNN has fast convolutions for any number of channels. (Its blocked layouts
// need multiples of 8; below that it falls back to reference code that is a
// thousand times slower.)
#ifndef TENSOR_CPU_CPU_LAYOUT_H_
#define TENSOR_CPU_CPU_LAYOUT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "tensor/nn_kernels.h"
#include "tensor/tensor.h"

namespace ps {

// Memory in row-major order of `shape`.
dnnl::memory::desc PlainDesc(const Shape& shape);

// The same memory for a shape [batch, channels, height, width] that lies in
// the order batch, height, width, channels.
dnnl::memory::desc ChannelsLastDesc(const Shape& shape);

// `activation`'s own order.
dnnl::memory::desc MemoryDesc(const ActivationDesc& activation);

// An activation [batch, channels, height, width] in channels-last order. Where
// both orders are the same (one channel, or one pixel) it is plain.
ActivationDesc ChannelsLastActivation(const Shape& shape);

// Whether a plain activation of this shape is also in channels-last order.
bool OrdersCoincide(const Shape& shape);

// Errors: kInvalidArgument, starting with `what`, for a shape that holds
// nothing or has too many dimensions, or a layout that is not of this backend.
absl::Status CheckActivation(absl::string_view what,
                             const ActivationDesc& activation);

}  // namespace ps

#endif  // TENSOR_CPU_CPU_LAYOUT_H_
