#include "compressors/chunks/chunk_layout.h"

#include <algorithm>
#include <cmath>

namespace ps {
namespace {

void Append(const ChunkRun& run, std::vector<ChunkRun>* runs) {
  // Chunks of one element have no borders that a run of its own would keep.
  if (run.chunk_size == 1 && !runs->empty() && runs->back().chunk_size == 1) {
    runs->back().size += run.size;
    return;
  }
  runs->push_back(run);
}

}  // namespace

int64_t ChunkSizeFor(double ratio) {
  // No vector is longer, and a smaller ratio would not fit 64 bits.
  constexpr double kLongest = kMaxDenseSize;
  return std::max<int64_t>(1, std::llround(std::min(kLongest, 1 / ratio)));
}

ChunkLayout LayOutChunks(absl::Span<const ChunkRun> tensors,
                         absl::Span<const int64_t> part_ends) {
  ChunkLayout layout;
  int64_t begin = 0;
  int64_t tensor_end = 0;
  auto tensor = tensors.begin();
  for (const int64_t end : part_ends) {
    std::vector<ChunkRun>& runs = layout.emplace_back();
    while (begin < end) {
      while (begin == tensor_end) tensor_end += (tensor++)->size;
      ChunkRun run;
      run.size = std::min(end, tensor_end) - begin;
      run.chunk_size = std::min(run.size, tensor[-1].chunk_size);
      Append(run, &runs);
      begin += run.size;
    }
  }
  return layout;
}

}  // namespace ps
