#include "compressors/wrappers/gradient_clipping.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {
namespace {

class GradientClipping final : public Compressor {
 public:
  GradientClipping(const CompressorOptions& options,
                   std::unique_ptr<Compressor> inner, Tensor scaled)
      : n_(options.dense_size),
        max_norm_(options.config.clip_norm() /
                  std::sqrt(static_cast<double>(options.num_workers))),
        kernels_(&options.backend->sparse()),
        inner_(std::move(inner)),
        scaled_(std::move(scaled)) {}

  absl::StatusOr<EncodedGradient> Compress(const Tensor& gradient,
                                           Tensor* residual) override {
    if (gradient.size() != n_) {
      return absl::InvalidArgumentError(
          absl::StrCat("gradient of ", gradient.size(),
                       " elements for a compressor of ", n_));
    }
    double sum_squares;
    PS_RETURN_IF_ERROR(kernels_->SumSquares(gradient.data(), n_, &sum_squares));
    const double norm = std::sqrt(sum_squares);
    // `inner` rejects a gradient with an infinite norm.
    if (!(norm > max_norm_) || std::isinf(norm)) {
      return inner_->Compress(gradient, residual);
    }
    const float factor = static_cast<float>(max_norm_ / norm);
    PS_RETURN_IF_ERROR(
        kernels_->Scale({gradient.data(), factor}, n_, scaled_.data()));
    return inner_->Compress(scaled_, residual);
  }

  std::string SaveState() const override { return inner_->SaveState(); }
  absl::Status LoadState(absl::string_view state) override {
    return inner_->LoadState(state);
  }

 private:
  const int64_t n_;
  const double max_norm_;
  SparseKernels* const kernels_;  // Not owned.
  const std::unique_ptr<Compressor> inner_;
  Tensor scaled_;  // [n]
};

}  // namespace

absl::StatusOr<std::unique_ptr<Compressor>> NewGradientClipping(
    const CompressorOptions& options, std::unique_ptr<Compressor> inner) {
  PS_ASSIGN_OR_RETURN(Tensor scaled,
                      options.backend->Allocate({options.dense_size}));
  return std::make_unique<GradientClipping>(options, std::move(inner),
                                            std::move(scaled));
}

}  // namespace ps
