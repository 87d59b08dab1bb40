// Sends every element: the uncompressed baseline.
#include <memory>

#include "compressors/selectors/sparsifier.h"

namespace ps {
namespace {

class AllSelector final : public Selector {
 public:
  absl::Status Select(const SelectorInput& input, Selected* selected,
                      CompressionStats* stats) override {
    selected->all = true;
    stats->raw_count = input.n;
    stats->target_count = input.n;
    return absl::OkStatus();
  }
};

absl::StatusOr<std::unique_ptr<Compressor>> NewNone(
    const CompressorOptions& options) {
  return NewSparsifier(options, std::make_unique<AllSelector>());
}

REGISTER_COMPRESSOR("none", CompressorPlugin(NewNone).WithoutTargetRatio());

}  // namespace
}  // namespace ps
