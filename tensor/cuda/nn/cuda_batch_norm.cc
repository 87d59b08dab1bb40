#include "tensor/cuda/nn/cuda_batch_norm.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tensor/cuda/nn/batch_norm_cores.h"
#include "tensor/cuda/nn/channel_sums.h"
#include "tensor/cuda/nn/cuda_layout.h"
#include "tensor/tensor.h"

namespace ps {
namespace {

template <typename T>
class CudaBatchNorm final : public BatchNormOp {
 public:
  CudaBatchNorm(LayerDevice* device, const BatchNormShape& shape,
                Storage storage, const ActivationDesc& input, bool has_residual)
      : device_(device),
        shape_(shape),
        has_residual_(has_residual),
        output_(input),
        geometry_(ChannelGeometryOf(storage, input.shape)) {}

  const ActivationDesc& output() const override { return output_; }

  absl::Status Allocate() {
    constexpr int64_t kVectors = 6;
    const int64_t channels = geometry_.channels();
    PS_ASSIGN_OR_RETURN(
        vectors_, DeviceArray<float>::Create(device_, kVectors * channels));
    const auto vector = [&](int64_t i) {
      return vectors_.data() + i * channels;
    };
    statistics_ = {vector(0), vector(1), vector(2), vector(3)};
    factors_ = {vector(4), vector(5)};
    if (!shape_.training) return absl::OkStatus();
    return device_->ReserveScratch(ChannelSumsScratchBytes(geometry_));
  }

  absl::Status Forward(const ForwardArguments& a) override {
    PS_RETURN_IF_ERROR(shape_.measures_batch() ? MeasureBatch(a)
                                               : TakeRunning(a));
    return has_residual_ ? Normalize<true>(a) : Normalize<false>(a);
  }

  absl::Status Backward(const BackwardArguments& a) override {
    PS_RETURN_IF_ERROR(!shape_.relu ? SumGradients<NormGradientMask::kNone>(a)
                       : has_residual_
                           ? SumGradients<NormGradientMask::kFromOutput>(a)
                           : SumGradients<NormGradientMask::kFromInput>(a));
    if (a.dx == nullptr) return absl::OkStatus();
    NormInputGradientCore<T> core;
    core.map = geometry_.map;
    core.masks = shape_.relu && !has_residual_;
    core.statistics = statistics_;
    core.factors = factors_;
    core.x = Elements<T>(a.x);
    core.dy = Elements<T>(a.dy);
    core.dx = Elements<T>(a.dx);
    return device_->Run(core, geometry_.size());
  }

 private:
  template <bool kResidual>
  absl::Status Normalize(const ForwardArguments& a) {
    NormalizeCore<T, kResidual> core;
    core.map = geometry_.map;
    core.statistics = statistics_;
    core.x = Elements<T>(a.x);
    core.residual = Elements<T>(a.residual);
    core.relu = shape_.relu;
    core.y = Elements<T>(a.y);
    return device_->Run(core, geometry_.size());
  }

  template <NormGradientMask kMask>
  absl::Status SumGradients(const BackwardArguments& a) {
    NormGradientTerms<T, kMask> terms;
    terms.statistics = statistics_;
    terms.x = Elements<T>(a.x);
    terms.y = Elements<T>(a.y);
    terms.dy = Elements<T>(a.dy);
    FinishNormGradient finish;
    finish.elements = geometry_.elements;
    finish.fixed_statistics = shape_.fixed_statistics;
    finish.statistics = statistics_;
    finish.dweight = a.dweight;
    finish.dbias = a.dbias;
    finish.factors = factors_;
    return SumChannels(device_, geometry_, terms, finish);
  }

  absl::Status MeasureBatch(const ForwardArguments& a) {
    ShiftedTerms<T> terms;
    terms.x = Elements<T>(a.x);
    terms.pixels = geometry_.map.pixels.value();
    FinishStatistics<T> finish;
    finish.elements = geometry_.elements;
    finish.pixels = terms.pixels;
    finish.x = terms.x;
    finish.weight = a.weight;
    finish.bias = a.bias;
    finish.epsilon = shape_.epsilon;
    finish.momentum = shape_.momentum;
    finish.running_mean = a.running_mean;
    finish.running_variance = a.running_variance;
    finish.statistics = statistics_;
    return SumChannels(device_, geometry_, terms, finish);
  }

  absl::Status TakeRunning(const ForwardArguments& a) {
    InferenceStatisticsCore core;
    core.running_mean = a.running_mean;
    core.running_variance = a.running_variance;
    core.weight = a.weight;
    core.bias = a.bias;
    core.epsilon = shape_.epsilon;
    core.statistics = statistics_;
    return device_->Run(core, geometry_.channels());
  }

  LayerDevice* const device_;  // Not owned.
  const BatchNormShape shape_;
  const bool has_residual_;
  const ActivationDesc output_;
  const ChannelGeometry geometry_;
  DeviceArray<float> vectors_;  // The memory of the next two.
  NormStatistics statistics_ = {};
  NormInputFactors factors_ = {};
};

}  // namespace

absl::StatusOr<std::unique_ptr<BatchNormOp>> PlanCudaBatchNorm(
    LayerDevice* device, const BatchNormShape& shape,
    const ActivationDesc& input, const ActivationDesc* residual) {
  const std::string what =
      absl::StrCat("batch normalisation of ", ShapeString(input.shape));
  PS_ASSIGN_OR_RETURN(const Storage storage, CheckCudaActivation(what, input));
  if (input.shape.size() != 2 && input.shape.size() != 4) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, ": needs [batch, features] or [batch, channels, height, width]"));
  }
  if (shape.measures_batch() && NumElements(input.shape) == input.shape[1]) {
    return absl::InvalidArgumentError(absl::StrCat(
        what,
        ": one value in each channel has no variance to train with; "
        "needs a larger batch or image"));
  }
  if (residual != nullptr) {
    PS_ASSIGN_OR_RETURN(const Storage residual_storage,
                        CheckCudaActivation(what, *residual));
    if (residual->shape != input.shape || residual_storage != storage) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": the residual is ", ShapeString(residual->shape),
                       "; it must have the input's shape and layout"));
    }
  }
  using Planned = absl::StatusOr<std::unique_ptr<BatchNormOp>>;
  return WithElementOf(storage, [&](auto element) -> Planned {
    auto op = std::make_unique<CudaBatchNorm<decltype(element)>>(
        device, shape, storage, input, residual != nullptr);
    PS_RETURN_IF_ERROR(op->Allocate());
    return op;
  });
}

}  // namespace ps
