// Positions at random, with error feedback instead of scaling (Stich,
// Cordonnier, Jaggi, "Sparsified SGD with Memory", NeurIPS 2018).
#include <memory>

#include "compressors/iteration_streams.h"
#include "compressors/random_subset.h"
#include "compressors/sparsifier.h"

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
    const int64_t k = stats->target_count;
    stats->raw_count = k;
    if (k == input.n) {
      selected->all = true;
      return absl::OkStatus();
    }
    RandomStream random = streams_.Next();
    selected->elements.indices = DrawSubset(input.n, k, &random);
    return kernels_->Gather(input.u, &selected->elements);
  }

  void Save(StateWriter* state) const override { streams_.Save(state); }
  absl::Status Load(StateReader* state) override {
    return streams_.Load(state);
  }

 private:
  SparseKernels* const kernels_;  // Not owned.
  IterationStreams streams_;
};

absl::StatusOr<std::unique_ptr<Compressor>> NewRandomk(
    const CompressorOptions& options) {
  return NewSparsifier(options, std::make_unique<RandomkSelector>(options));
}

REGISTER_COMPRESSOR("randomk", NewRandomk);

}  // namespace
}  // namespace ps
