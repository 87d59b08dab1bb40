// Sends every element: the uncompressed baseline.
#include <memory>

#include "common/status_macros.h"
#include "compressors/selectors/sparsifier.h"

namespace ps {
namespace {

class AllSelector final : public Selector {
 public:
  explicit AllSelector(SparseKernels* kernels) : kernels_(kernels) {}

  absl::Status Select(const SelectorInput& input, Selected* selected,
                      CompressionStats* stats) override {
    PS_RETURN_IF_ERROR(SelectEverything(input, kernels_, selected, stats));
    if (!stats->non_finite) stats->target_count = input.n;
    return absl::OkStatus();
  }

 private:
  SparseKernels* const kernels_;  // Not owned.
};

absl::StatusOr<std::unique_ptr<Compressor>> NewNone(
    const CompressorOptions& options) {
  return NewSparsifier(
      options, std::make_unique<AllSelector>(&options.backend->sparse()));
}

REGISTER_COMPRESSOR("none", "everything",
                    CompressorPlugin(NewNone).WithoutTargetRatio());

}  // namespace
}  // namespace ps
