// Selects the largest magnitude of each chunk of 1 / ratio consecutive
// elements: about the quality of exact top-k, with positions in few bits and a
// count that depends on the length alone. Chen et al., "ScaleCom", NeurIPS
// 2020, section 4, where it is called quasi-sort.
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
  vector.chunk_size = ChunkSizeFor(options.config.ratio());
  vector.size = options.dense_size;
  std::vector<int64_t> part_ends = options.part_ends;
  if (part_ends.empty()) part_ends.push_back(options.dense_size);
  return LayOutChunks({vector}, part_ends);
}

class ChunkTopKSelector final : public Selector {
 public:
  explicit ChunkTopKSelector(const CompressorOptions& options)
      : largest_(LayoutOf(options), options.backend) {}

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

REGISTER_COMPRESSOR("chunk_topk",
                    "the largest element of each chunk of 1 / ratio",
                    NewChunkTopK);

}  // namespace
}  // namespace ps
