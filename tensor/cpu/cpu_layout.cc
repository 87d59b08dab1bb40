#include "tensor/cpu/cpu_layout.h"

#include <memory>

#include "absl/strings/str_cat.h"

namespace ps {
namespace {

class ChannelsLastLayout final : public ActivationLayout {};

}  // namespace

dnnl::memory::desc PlainDesc(const Shape& shape) {
  dnnl::memory::dims strides(shape.size(), 1);
  for (size_t i = shape.size() - 1; i > 0; --i) {
    strides[i - 1] = strides[i] * shape[i];
  }
  return dnnl::memory::desc(shape, dnnl::memory::data_type::f32, strides);
}

dnnl::memory::desc ChannelsLastDesc(const Shape& shape) {
  return dnnl::memory::desc(shape, dnnl::memory::data_type::f32,
                            dnnl::memory::format_tag::nhwc);
}

dnnl::memory::desc MemoryDesc(const ActivationDesc& activation) {
  return activation.layout == nullptr ? PlainDesc(activation.shape)
                                      : ChannelsLastDesc(activation.shape);
}

ActivationDesc ChannelsLastActivation(const Shape& shape) {
  ActivationDesc activation = ActivationDesc::Plain(shape);
  if (!OrdersCoincide(shape)) {
    activation.layout = std::make_shared<ChannelsLastLayout>();
  }
  return activation;
}

bool OrdersCoincide(const Shape& shape) {
  return shape[1] == 1 || shape[2] * shape[3] == 1;
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
  if (dynamic_cast<const ChannelsLastLayout*>(activation.layout.get()) ==
          nullptr ||
      activation.shape.size() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": the layout is not one of the CPU's for ",
                     ShapeString(activation.shape)));
  }
  return absl::OkStatus();
}

}  // namespace ps
