// Selects exactly the k largest magnitudes (Aji and Heafield, "Sparse
// communication for distributed gradient descent", EMNLP 2017, with a global
// threshold).
#include <memory>

#include "compressors/selectors/exact_top_k.h"
#include "compressors/selectors/sparsifier.h"

namespace ps {
namespace {

class TopKSelector final : public Selector {
 public:
  explicit TopKSelector(const CompressorOptions& options)
      : top_k_(&options.backend->sparse()) {}

  absl::Status Select(const SelectorInput& input, Selected* selected,
                      CompressionStats* stats) override {
    return top_k_.SelectOfSum(input, selected, stats);
  }

 private:
  ExactTopK top_k_;
};

absl::StatusOr<std::unique_ptr<Compressor>> NewTopK(
    const CompressorOptions& options) {
  return NewSparsifier(options, std::make_unique<TopKSelector>(options));
}

REGISTER_COMPRESSOR("topk", "exactly the largest elements", NewTopK);

}  // namespace
}  // namespace ps
