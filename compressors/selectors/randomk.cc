// Selects positions at random, with error feedback instead of scaling (Stich,
// Cordonnier, Jaggi, "Sparsified SGD with Memory", NeurIPS 2018).
#include <memory>

#include "common/status_macros.h"
#include "compressors/cuda/device_search.h"
#include "compressors/selectors/iteration_streams.h"
#include "compressors/selectors/random_subset.h"
#include "compressors/selectors/sparsifier.h"

namespace ps {
namespace {

constexpr uint64_t kRandomkPurpose = 0x72616e646f6d6b;  // "randomk"

class RandomkSelector final : public Selector {
 public:
  explicit RandomkSelector(const CompressorOptions& options)
      : kernels_(&options.backend->sparse()),
        streams_(kRandomkPurpose, options) {}

  absl::Status Select(const SelectorInput& input, Selected* selected,
                      CompressionStats* stats) override {
    if (input.target_count == input.n) {
      return SelectEverything(input, kernels_, selected, stats);
    }
    const bool on_device = kernels_->device_work() != nullptr;
    Moments moments;
    if (on_device) {
      PS_RETURN_IF_ERROR(RunOnDevice(input));
      moments = on_device_.moments;
    } else {
      PS_RETURN_IF_ERROR(kernels_->AddAndMeasure(input.residual, input.gradient,
                                                 input.n, input.u, &moments));
    }
    stats->non_finite = moments.num_non_finite > 0;
    if (stats->non_finite) return absl::OkStatus();
    stats->raw_count = input.target_count;
    RandomStream random = streams_.Next();
    if (on_device) {
      selected->on_device = on_device_.selection;
      return absl::OkStatus();
    }
    selected->elements.indices =
        DrawSubset(input.n, input.target_count, &random);
    return kernels_->Gather(input.u, &selected->elements);
  }

  void Save(StateWriter* state) const override { streams_.Save(state); }
  absl::Status Load(StateReader* state) override {
    return streams_.Load(state);
  }

 private:
  absl::Status RunOnDevice(const SelectorInput& input) {
    DeviceRandomKRequest request;
    request.sum = {input.residual, input.gradient, input.u, input.n};
    request.k = input.target_count;
    request.key = streams_.NextKey();
    return SearchOnDevice(request, kernels_->device_work(), &device_,
                          &on_device_);
  }

  SparseKernels* const kernels_;  // Not owned.
  IterationStreams streams_;
  // Created on first use.
  std::unique_ptr<DeviceSearch<DeviceRandomKRequest>> device_;
  DeviceResult on_device_;
};

absl::StatusOr<std::unique_ptr<Compressor>> NewRandomk(
    const CompressorOptions& options) {
  return NewSparsifier(options, std::make_unique<RandomkSelector>(options));
}

REGISTER_COMPRESSOR("randomk", "elements at random positions", NewRandomk);

}  // namespace
}  // namespace ps
