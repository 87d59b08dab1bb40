#include "tensor/cuda/nn/cuda_layout.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

class Bfloat16Layout final : public ActivationLayout {};

}  // namespace

ActivationDesc CudaActivation(Storage storage, Shape shape) {
  ActivationDesc desc = ActivationDesc::Plain(std::move(shape));
  if (storage == Storage::kFloat) return desc;
  desc.layout = std::make_shared<Bfloat16Layout>();
  desc.num_floats = (desc.num_floats + 1) / 2;
  return desc;
}

absl::StatusOr<Storage> CheckCudaActivation(absl::string_view what,
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
  if (activation.layout == nullptr) return Storage::kFloat;
  if (dynamic_cast<const Bfloat16Layout*>(activation.layout.get()) == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": the layout is not one of CUDA's for ",
                     ShapeString(activation.shape)));
  }
  return Storage::kBfloat16;
}

absl::StatusOr<Storage> CheckCudaImages(absl::string_view what,
                                        const ActivationDesc& activation) {
  if (activation.shape.size() != 4) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, ": needs an input [batch, channels, height, width]"));
  }
  return CheckCudaActivation(what, activation);
}

absl::StatusOr<Storage> CheckCudaSequence(absl::string_view what,
                                          const ActivationDesc& activation) {
  if (activation.shape.size() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": needs an input [steps, batch, features]"));
  }
  return CheckCudaActivation(what, activation);
}

}  // namespace ps
