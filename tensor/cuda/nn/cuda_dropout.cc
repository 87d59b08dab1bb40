#include "tensor/cuda/nn/cuda_dropout.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/cuda/nn/dropout_core.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

template <typename T>
class CudaDropout final : public DropoutOp {
 public:
  CudaDropout(LayerDevice* device, double probability,
              const ActivationDesc& output)
      : device_(device),
        drop_below_(static_cast<int32_t>(
            std::lround(probability * (1 << kDropoutDrawBits)))),
        scale_(static_cast<float>(1 / (1 - probability))),
        output_(output) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Forward(uint64_t key, const float* x, float* y) override {
    key_ = key;
    return Run(x, y);
  }
  absl::Status Backward(const float* dy, float* dx) override {
    return Run(dy, dx);
  }

 private:
  absl::Status Run(const float* from, float* to) {
    DropoutCore<T> core;
    core.key = key_;
    core.drop_below = drop_below_;
    core.scale = scale_;
    core.x = Elements<T>(from);
    core.y = Elements<T>(to);
    return device_->Run(core, NumElements(output_.shape));
  }

  LayerDevice* const device_;  // Not owned.
  const int32_t drop_below_;
  const float scale_;
  const ActivationDesc output_;
  uint64_t key_ = 0;  // Key of the latest Forward.
};

}  // namespace

absl::StatusOr<std::unique_ptr<DropoutOp>> PlanCudaDropout(
    LayerDevice* device, double probability, const ActivationDesc& input) {
  const std::string what =
      absl::StrCat("dropout of ", ShapeString(input.shape));
  PS_ASSIGN_OR_RETURN(const Storage storage, CheckCudaActivation(what, input));
  // Written so that NaN is rejected too.
  if (!(probability >= 0 && probability < 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, ": the probability is ", probability, "; must be in [0, 1)"));
  }
  return WithElementOf(
      storage, [&](auto element) -> std::unique_ptr<DropoutOp> {
        return std::make_unique<CudaDropout<decltype(element)>>(
            device, probability, input);
      });
}

}  // namespace ps
