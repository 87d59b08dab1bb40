// Selects positions at random, with error feedback instead of scaling (Stich,
// Cordonnier, Jaggi, "Sparsified SGD with Memory", NeurIPS 2018).
#include <memory>

#include "common/status_macros.h"
#include "compressors/cuda/device_random_k.h"
#include "compressors/selectors/iteration_streams.h"
#include "compressors/selectors/random_subset.h"
#include "compressors/selectors/sparsifier.h"

namespace ps {
namespace {

constexpr uint64_t kRandomkPurpose = 0x72616e646f6d6b;  // "randomk"

class RandomkSelector final : public Selector {
 public:
  explicit RandomkSelector(const CompressorOptions& options)
      : ratio_(options.config.ratio()),
        kernels_(&options.backend->sparse()),
        streams_(kRandomkPurpose, options) {}

  absl::Status AddAndMeasure(SparseKernels* kernels, const float* residual,
                             const float* gradient, int64_t n, float* out,
                             Moments* moments) override {
    taken_from_ = nullptr;
    const int64_t k = TargetCount(ratio_, n);
    if (k == n || kernels_->device_work() == nullptr) {
      return kernels->AddAndMeasure(residual, gradient, n, out, moments);
    }
    if (device_ == nullptr) {
      PS_ASSIGN_OR_RETURN(device_, NewDeviceRandomK(kernels_->device_work()));
    }
    DeviceRandomKRequest request;
    request.residual = residual;
    request.gradient = gradient;
    request.u = out;
    request.n = n;
    request.k = k;
    request.key = streams_.NextKey();
    PS_RETURN_IF_ERROR(device_->Run(request, &on_device_));
    *moments = on_device_.moments;
    taken_from_ = out;
    return absl::OkStatus();
  }

  absl::Status Select(const SelectorInput& input, Selected* selected,
                      CompressionStats* stats) override {
    const int64_t k = stats->target_count;
    stats->raw_count = k;
    if (k == input.n) {
      selected->all = true;
      return absl::OkStatus();
    }
    RandomStream random = streams_.Next();
    if (taken_from_ == input.u) {
      selected->on_device = on_device_.selection;
      return absl::OkStatus();
    }
    selected->elements.indices = DrawSubset(input.n, k, &random);
    return kernels_->Gather(input.u, &selected->elements);
  }

  void Save(StateWriter* state) const override { streams_.Save(state); }
  absl::Status Load(StateReader* state) override {
    return streams_.Load(state);
  }

 private:
  const double ratio_;
  SparseKernels* const kernels_;  // Not owned.
  IterationStreams streams_;
  std::unique_ptr<DeviceRandomK> device_;  // Created on first use.
  DeviceRandomKResult on_device_;
  const float* taken_from_ = nullptr;  // The vector of *on_device_.
};

absl::StatusOr<std::unique_ptr<Compressor>> NewRandomk(
    const CompressorOptions& options) {
  return NewSparsifier(options, std::make_unique<RandomkSelector>(options));
}

REGISTER_COMPRESSOR("randomk", NewRandomk);

}  // namespace
}  // namespace ps
