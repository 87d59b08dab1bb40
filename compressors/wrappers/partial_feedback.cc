#include "compressors/wrappers/partial_feedback.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ps {
namespace {

class PartialFeedback final : public Compressor {
 public:
  PartialFeedback(const CompressorOptions& options,
                  std::unique_ptr<Compressor> inner, Tensor fed)
      : share_(static_cast<float>(options.config.feedback_share() *
                                  options.config.feedback_decay())),
        rest_(static_cast<float>(options.config.feedback_decay()) - share_),
        backend_(options.backend),
        inner_(std::move(inner)),
        fed_(std::move(fed)) {}

  absl::StatusOr<EncodedGradient> Compress(const Tensor& gradient,
                                           Tensor* residual) override {
    const int64_t n = fed_.size();
    if (residual->size() != n) {
      return absl::InvalidArgumentError(
          absl::StrCat("residual of ", residual->size(),
                       " elements for a compressor of ", n));
    }
    SparseKernels& kernels = backend_->sparse();
    PS_RETURN_IF_ERROR(
        kernels.Scale({residual->data(), share_}, n, fed_.data()));
    PS_ASSIGN_OR_RETURN(EncodedGradient encoded,
                        inner_->Compress(gradient, &fed_));
    if (encoded.stats.non_finite) return encoded;
    PS_RETURN_IF_ERROR(kernels.AddScaled(
        {residual->data(), rest_}, {fed_.data(), 1}, n, residual->data()));
    return encoded;
  }

  std::string SaveState() const override { return inner_->SaveState(); }
  absl::Status LoadState(absl::string_view state) override {
    return inner_->LoadState(state);
  }

 private:
  const float share_;       // Of the residual, that is added to the gradient.
  const float rest_;        // What else is kept of it.
  Backend* const backend_;  // Not owned.
  const std::unique_ptr<Compressor> inner_;
  Tensor fed_;  // [n], the share of the residual, and its remainder.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Compressor>> NewPartialFeedback(
    const CompressorOptions& options, std::unique_ptr<Compressor> inner) {
  PS_ASSIGN_OR_RETURN(Tensor fed,
                      options.backend->Allocate({options.dense_size}));
  return std::make_unique<PartialFeedback>(options, std::move(inner),
                                           std::move(fed));
}

}  // namespace ps
