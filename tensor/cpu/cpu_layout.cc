#include "tensor/cpu/cpu_layout.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace ps {
namespace {

using dnnl::memory;

class CpuLayout final : public ActivationLayout {
 public:
  explicit CpuLayout(ChannelOrder order) : order(order) {}
  const ChannelOrder order;
};

}  // namespace

int64_t BlockChannels() {
  static const int64_t channels = [] {
    // The number of an instruction set has the bits of all sets it includes.
    const auto avx512 = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
    const auto here = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
    return (here & avx512) == avx512 ? 16 : 8;
  }();
  return channels;
}

memory::desc PlainDesc(const Shape& shape) {
  memory::dims strides(shape.size(), 1);
  for (size_t i = shape.size() - 1; i > 0; --i) {
    strides[i - 1] = strides[i] * shape[i];
  }
  return memory::desc(shape, memory::data_type::f32, strides);
}

memory::desc ImageDesc(const Shape& shape, ChannelOrder order) {
  if (order == ChannelOrder::kPlain) return PlainDesc(shape);
  memory::format_tag tag = memory::format_tag::nhwc;
  if (order == ChannelOrder::kBlocked) {
    tag = BlockChannels() == 16 ? memory::format_tag::nChw16c
                                : memory::format_tag::nChw8c;
  }
  return memory::desc(shape, memory::data_type::f32, tag);
}

memory::desc MemoryDesc(const ActivationDesc& activation) {
  return activation.layout == nullptr
             ? PlainDesc(activation.shape)
             : ImageDesc(activation.shape, OrderOf(activation));
}

ChannelOrder OrderOf(const ActivationDesc& activation) {
  if (activation.layout == nullptr) return ChannelOrder::kPlain;
  return static_cast<const CpuLayout&>(*activation.layout).order;
}

ActivationDesc ImageActivation(const Shape& shape, ChannelOrder order) {
  CHECK(order != ChannelOrder::kBlocked || shape[1] % BlockChannels() == 0)
      << ShapeString(shape);
  ActivationDesc activation = ActivationDesc::Plain(shape);
  if (!OrdersCoincide(shape, order, ChannelOrder::kPlain)) {
    activation.layout = std::make_shared<CpuLayout>(order);
  }
  return activation;
}

bool OrdersCoincide(const Shape& shape, ChannelOrder a, ChannelOrder b) {
  if (a == b || shape[2] * shape[3] == 1) return true;
  // With a single block, the blocked order is the channels-last order.
  if (a != ChannelOrder::kPlain && b != ChannelOrder::kPlain) {
    return shape[1] == BlockChannels();
  }
  return shape[1] == 1 && a != ChannelOrder::kBlocked &&
         b != ChannelOrder::kBlocked;
}

ChannelMatrices::ChannelMatrices(const ActivationDesc& activation) {
  const Shape& shape = activation.shape;
  const int64_t channels = shape[1];
  if (shape.size() == 2) {
    count = 1, rows = shape[0], width = channels, per_image = 1;
    return;
  }
  rows = NumElements(shape) / (shape[0] * channels);
  switch (OrderOf(activation)) {
    case ChannelOrder::kPlain:
      // With one pixel, the channels are adjacent in any order.
      width = rows == 1 ? channels : 1;
      break;
    case ChannelOrder::kLast:
      width = channels;
      break;
    case ChannelOrder::kBlocked:
      width = BlockChannels();
      break;
  }
  per_image = channels / width;
  count = shape[0] * per_image;
}

ChannelOrder MatrixOrder(const ActivationDesc& images) {
  const ChannelOrder order = OrderOf(images);
  return order == ChannelOrder::kPlain && ChannelMatrices(images).width > 1
             ? ChannelOrder::kLast
             : order;
}

absl::Status CheckActivation(absl::string_view what,
                             const ActivationDesc& activation) {
  bool holds_something = !activation.shape.empty();
  for (const int64_t extent : activation.shape) {
    holds_something = holds_something && extent > 0;
  }
  if (!holds_something || activation.shape.size() > DNNL_MAX_NDIMS) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": an activation needs 1 to ", DNNL_MAX_NDIMS,
                     " dimensions, each of at least 1"));
  }
  if (activation.layout == nullptr) return absl::OkStatus();
  const auto* const layout =
      dynamic_cast<const CpuLayout*>(activation.layout.get());
  if (layout == nullptr || activation.shape.size() != 4 ||
      (layout->order == ChannelOrder::kBlocked &&
       activation.shape[1] % BlockChannels() != 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": the layout is not one of the CPU's for ",
                     ShapeString(activation.shape)));
  }
  return absl::OkStatus();
}

absl::Status CheckImages(absl::string_view what,
                         const ActivationDesc& activation) {
  if (activation.shape.size() != 4) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, ": needs an input [batch, channels, height, width]"));
  }
  return CheckActivation(what, activation);
}

}  // namespace ps
