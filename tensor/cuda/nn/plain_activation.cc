#include "tensor/cuda/nn/plain_activation.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "tensor/tensor.h"

namespace ps {

absl::Status CheckPlain(absl::string_view what,
                        const ActivationDesc& activation) {
  bool holds_something = !activation.shape.empty();
  for (const int64_t extent : activation.shape) {
    holds_something = holds_something && extent > 0;
  }
  if (!holds_something) {
    return absl::InvalidArgumentError(
        absl::StrCat(what,
                     ": an activation needs at least 1 dimension, each of at "
                     "least 1"));
  }
  if (activation.layout != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": the layout is not one of CUDA's for ",
                     ShapeString(activation.shape)));
  }
  return absl::OkStatus();
}

absl::Status CheckPlainImages(absl::string_view what,
                              const ActivationDesc& activation) {
  if (activation.shape.size() != 4) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, ": needs an input [batch, channels, height, width]"));
  }
  return CheckPlain(what, activation);
}

}  // namespace ps
