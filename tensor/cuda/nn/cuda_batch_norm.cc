#include "tensor/cuda/nn/cuda_batch_norm.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/nn/batch_norm_cores.h"
#include "tensor/cuda/nn/plain_activation.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

class CudaBatchNorm final : public BatchNormOp {
 public:
  CudaBatchNorm(LayerDevice* device, const BatchNormShape& shape,
                const ActivationDesc& input, bool has_residual)
      : device_(device),
        shape_(shape),
        has_residual_(has_residual),
        output_(input),
        geometry_(
            input.shape[0], input.shape[1],
            NumElements(input.shape) / (input.shape[0] * input.shape[1])) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Allocate() {
    constexpr int64_t kVectors = 6;
    const int64_t channels = geometry_.channels.value();
    PS_ASSIGN_OR_RETURN(
        vectors_, DeviceArray<float>::Create(device_, kVectors * channels));
    const auto vector = [&](int64_t i) {
      return vectors_.data() + i * channels;
    };
    statistics_ = {vector(0), vector(1), vector(2), vector(3)};
    factors_ = {vector(4), vector(5)};
    if (!shape_.training) return absl::OkStatus();
    return device_->ReserveScratch(2 * geometry_.num_partial() *
                                   static_cast<int64_t>(sizeof(double)));
  }

  absl::Status Forward(const ForwardArguments& a) override {
    PS_RETURN_IF_ERROR(shape_.training ? MeasureBatch(a) : TakeRunning(a));
    NormalizeCore core;
    core.geometry = geometry_;
    core.statistics = statistics_;
    core.x = a.x;
    core.residual = has_residual_ ? a.residual : nullptr;
    core.relu = shape_.relu;
    core.y = a.y;
    return device_->Run(core, geometry_.size());
  }

  absl::Status Backward(const BackwardArguments& a) override {
    NormGradient gradient;
    gradient.mask = !shape_.relu    ? NormGradientMask::kNone
                    : has_residual_ ? NormGradientMask::kFromOutput
                                    : NormGradientMask::kFromInput;
    gradient.statistics = statistics_;
    gradient.x = a.x;
    gradient.y = a.y;
    gradient.dy = a.dy;
    NormGradientTerms terms;
    terms.gradient = gradient;
    PS_RETURN_IF_ERROR(SumChannels(terms));
    FinishNormGradientCore finish;
    finish.geometry = geometry_;
    finish.statistics = statistics_;
    finish.sums = first_sums();
    finish.products = second_sums();
    finish.dweight = a.dweight;
    finish.dbias = a.dbias;
    finish.factors = factors_;
    PS_RETURN_IF_ERROR(device_->Run(finish, geometry_.channels.value()));
    if (a.dx == nullptr) return absl::OkStatus();
    NormInputGradientCore core;
    core.geometry = geometry_;
    core.gradient = gradient;
    core.factors = factors_;
    core.dx = a.dx;
    return device_->Run(core, geometry_.size());
  }

 private:
  double* first_sums() const {
    return static_cast<double*>(device_->scratch());
  }
  double* second_sums() const { return first_sums() + geometry_.num_partial(); }

  template <typename Terms>
  absl::Status SumChannels(const Terms& terms) {
    ChannelSumsCore<Terms> core;
    core.geometry = geometry_;
    core.terms = terms;
    core.first = first_sums();
    core.second = second_sums();
    return device_->Run(core, geometry_.num_partial());
  }

  // Mean and deviation of the batch, which also move the running ones.
  absl::Status MeasureBatch(const ForwardArguments& a) {
    ShiftedTerms terms;
    terms.x = a.x;
    terms.pixels = geometry_.pixels;
    PS_RETURN_IF_ERROR(SumChannels(terms));
    FinishStatisticsCore core;
    core.geometry = geometry_;
    core.sums = first_sums();
    core.squares = second_sums();
    core.x = a.x;
    core.weight = a.weight;
    core.bias = a.bias;
    core.epsilon = shape_.epsilon;
    core.momentum = shape_.momentum;
    core.running_mean = a.running_mean;
    core.running_variance = a.running_variance;
    core.statistics = statistics_;
    return device_->Run(core, geometry_.channels.value());
  }

  absl::Status TakeRunning(const ForwardArguments& a) {
    InferenceStatisticsCore core;
    core.running_mean = a.running_mean;
    core.running_variance = a.running_variance;
    core.weight = a.weight;
    core.bias = a.bias;
    core.epsilon = shape_.epsilon;
    core.statistics = statistics_;
    return device_->Run(core, geometry_.channels.value());
  }

  LayerDevice* const device_;  // Not owned.
  const BatchNormShape shape_;
  const bool has_residual_;
  const ActivationDesc output_;
  const ChannelGeometry geometry_;
  DeviceArray<float> vectors_;  // What the next two point to.
  NormStatistics statistics_ = {};
  NormInputFactors factors_ = {};
};

}  // namespace

absl::StatusOr<std::unique_ptr<BatchNormOp>> PlanCudaBatchNorm(
    LayerDevice* device, const BatchNormShape& shape,
    const ActivationDesc& input, const ActivationDesc* residual) {
  const std::string what =
      absl::StrCat("batch normalisation of ", ShapeString(input.shape));
  PS_RETURN_IF_ERROR(CheckPlain(what, input));
  if (input.shape.size() != 2 && input.shape.size() != 4) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, ": needs [batch, features] or [batch, channels, height, width]"));
  }
  if (shape.training && NumElements(input.shape) == input.shape[1]) {
    return absl::InvalidArgumentError(absl::StrCat(
        what,
        ": one value in each channel has no variance to train with; "
        "needs a larger batch or image"));
  }
  if (residual != nullptr &&
      (residual->shape != input.shape || residual->layout != nullptr)) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": the residual is ",
                                                   ShapeString(residual->shape),
                                                   ", or of another layout"));
  }
  auto op = std::make_unique<CudaBatchNorm>(device, shape, input,
                                            residual != nullptr);
  PS_RETURN_IF_ERROR(op->Allocate());
  return op;
}

}  // namespace ps
