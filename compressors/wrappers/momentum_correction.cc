#include "compressors/wrappers/momentum_correction.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/payload/payload.h"
#include "compressors/state_io.h"
#include "glog/logging.h"

namespace ps {
namespace {

constexpr absl::string_view kKind = "momentum_correction";

class MomentumCorrection final : public Compressor {
 public:
  static absl::StatusOr<std::unique_ptr<Compressor>> Create(
      const CompressorOptions& options, std::unique_ptr<Compressor> inner) {
    auto made = std::unique_ptr<MomentumCorrection>(
        new MomentumCorrection(options, std::move(inner)));
    const Shape shape = {options.dense_size};
    PS_ASSIGN_OR_RETURN(made->velocity_, options.backend->Allocate(shape));
    PS_ASSIGN_OR_RETURN(made->next_velocity_, options.backend->Allocate(shape));
    if (made->config_.nesterov()) {
      PS_ASSIGN_OR_RETURN(made->step_, options.backend->Allocate(shape));
    }
    return made;
  }

  absl::StatusOr<EncodedGradient> Compress(const Tensor& gradient,
                                           Tensor* residual) override {
    if (gradient.size() != n_) {
      return absl::InvalidArgumentError(
          absl::StrCat("gradient of ", gradient.size(),
                       " elements for a compressor of ", n_));
    }
    PS_RETURN_IF_ERROR(MakeStep(gradient));
    PS_ASSIGN_OR_RETURN(
        EncodedGradient encoded,
        inner_->Compress(config_.nesterov() ? step_ : next_velocity_,
                         residual));
    if (encoded.stats.non_finite) return encoded;
    // Masking keeps momentum from acting on elements that were sent late. Where
    // nothing is late, masking would clear all momentum.
    if (config_.factor_masking() && !encoded.stats.chosen_dense) {
      PS_RETURN_IF_ERROR(MaskSent(encoded));
    }
    std::swap(velocity_, next_velocity_);
    return encoded;
  }

  std::string SaveState() const override {
    std::string velocity(n_ * sizeof(float), '\0');
    const absl::Status status =
        backend_->CopyToHost(velocity_, reinterpret_cast<float*>(&velocity[0]));
    CHECK(status.ok()) << status;
    StateWriter writer(kKind);
    writer.PutBytes(velocity);
    writer.PutBytes(inner_->SaveState());
    return std::move(writer).Finish();
  }

  absl::Status LoadState(absl::string_view state) override {
    PS_ASSIGN_OR_RETURN(StateReader reader, StateReader::Open(kKind, state));
    PS_ASSIGN_OR_RETURN(const absl::string_view velocity, reader.GetBytes());
    PS_ASSIGN_OR_RETURN(const absl::string_view inner, reader.GetBytes());
    PS_RETURN_IF_ERROR(reader.Finish());
    if (velocity.size() != n_ * sizeof(float)) {
      return absl::DataLossError(absl::StrCat("momentum of ", velocity.size(),
                                              " bytes for ", n_, " elements"));
    }
    // Bytes in a string need not be aligned for floats.
    std::vector<float> host(n_);
    velocity.copy(reinterpret_cast<char*>(host.data()), velocity.size());
    PS_RETURN_IF_ERROR(backend_->CopyFromHost(host.data(), &next_velocity_));
    // This is last, since it is the only step that changes something.
    PS_RETURN_IF_ERROR(inner_->LoadState(inner));
    std::swap(velocity_, next_velocity_);
    return absl::OkStatus();
  }

 private:
  MomentumCorrection(const CompressorOptions& options,
                     std::unique_ptr<Compressor> inner)
      : config_(options.config.momentum_correction()),
        n_(options.dense_size),
        part_ends_(options.part_ends),
        backend_(options.backend),
        inner_(std::move(inner)) {
    if (part_ends_.empty()) part_ends_.push_back(n_);
  }

  // Computes the step in other vectors, since a non-finite gradient must change
  // nothing.
  absl::Status MakeStep(const Tensor& gradient) {
    SparseKernels& kernels = backend_->sparse();
    const float momentum = static_cast<float>(config_.momentum());
    const ScaledVector velocity = {velocity_.data(), momentum};
    const float* const g = gradient.data();
    if (!config_.nesterov()) {
      return kernels.AddScaled(velocity, {g, 1}, n_, next_velocity_.data());
    }
    PS_RETURN_IF_ERROR(
        kernels.AddScaled(velocity, {g, momentum}, n_, next_velocity_.data()));
    return kernels.AddScaled({next_velocity_.data(), 1}, {g, 1}, n_,
                             step_.data());
  }

  absl::Status MaskSent(const EncodedGradient& encoded) {
    SparseKernels& kernels = backend_->sparse();
    if (encoded.stats.count == n_) {
      return kernels.Clear(next_velocity_.data(), n_);
    }
    int64_t begin = 0;
    for (size_t p = 0; p < encoded.parts.size(); ++p) {
      DecodePayload({encoded.parts[p].span()}, &sent_.indices, &sent_.values);
      sent_.values.assign(sent_.indices.size(), 0.0f);
      PS_RETURN_IF_ERROR(kernels.Scatter(sent_, next_velocity_.data() + begin));
      begin = part_ends_[p];
    }
    return absl::OkStatus();
  }

  const MomentumCorrectionConfig config_;
  const int64_t n_;
  std::vector<int64_t> part_ends_;
  Backend* const backend_;  // Not owned.
  const std::unique_ptr<Compressor> inner_;
  Tensor velocity_;       // [n], p.
  Tensor next_velocity_;  // [n], the memory of the next p.
  Tensor step_;           // [n], p + g; with Nesterov momentum only.
  Selection sent_;        // Kept for its memory.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Compressor>> NewMomentumCorrection(
    const CompressorOptions& options, std::unique_ptr<Compressor> inner) {
  return MomentumCorrection::Create(options, std::move(inner));
}

}  // namespace ps
