// Selects the largest magnitudes of each chunk of consecutive elements: about
// the quality of exact top-k, with a count that depends on the length alone.
// One of each chunk: Chen et al., "ScaleCom", NeurIPS 2020, section 4, where it
// is called quasi-sort. Several: Sarfi et al., "Communication Efficient LLM
// Pre-training with SparseLoCo", arXiv 2508.15706.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "compressors/chunks/chunk_layout.h"
#include "compressors/chunks/largest_of_chunks.h"
#include "compressors/selectors/sparsifier.h"

namespace ps {
namespace {

// Lays out the vector as one tensor: chunks may span tensors.
ChunkLayout LayoutOf(const CompressorOptions& options) {
  ChunkRun vector;
  vector.chunk_size = options.config.chunk_topk().chunk_elements() > 0
                          ? options.config.chunk_topk().chunk_elements()
                          : ChunkSizeFor(options.config.ratio());
  vector.size = options.dense_size;
  std::vector<int64_t> part_ends = options.part_ends;
  if (part_ends.empty()) part_ends.push_back(options.dense_size);
  return LayOutChunks({vector}, part_ends);
}

int64_t OfEach(const CompressorConfig& config) {
  return std::max<int64_t>(
      1,
      std::llround(config.ratio() *
                   static_cast<double>(config.chunk_topk().chunk_elements())));
}

class ChunkTopKSelector final : public Selector {
 public:
  explicit ChunkTopKSelector(const CompressorOptions& options)
      : largest_(LayoutOf(options), OfEach(options.config), options.backend) {}

  absl::Status Select(const SelectorInput& input, Selected* selected,
                      CompressionStats* stats) override {
    return largest_.SelectOfSum(input, selected, stats);
  }

 private:
  LargestOfChunks largest_;
};

absl::StatusOr<std::unique_ptr<Compressor>> NewChunkTopK(
    const CompressorOptions& options) {
  return NewSparsifier(options, std::make_unique<ChunkTopKSelector>(options));
}

REGISTER_COMPRESSOR("chunk_topk", "the largest elements of each chunk",
                    NewChunkTopK);

}  // namespace
}  // namespace ps
