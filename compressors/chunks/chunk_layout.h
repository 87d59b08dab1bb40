// Lays out the chunks of a vector, from each of which one element is selected.
#ifndef COMPRESSORS_CHUNKS_CHUNK_LAYOUT_H_
#define COMPRESSORS_CHUNKS_CHUNK_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "compressors/payload/payload_format.h"

namespace ps {

// The chunks of each part of a vector (CompressorOptions::part_ends). The runs
// of a part follow one another and cover it.
using ChunkLayout = std::vector<std::vector<ChunkRun>>;

// Returns the chunk size that is nearest to this ratio of selected elements.
int64_t ChunkSizeFor(double ratio);

// Lays out the chunks of a vector that consists of `tensors`, one after the
// other, each with a chunk size of its own. Chunks restart in each tensor and
// in each part, so that a part can be coded without the others. part_ends: as
// in CompressorOptions, but not empty.
ChunkLayout LayOutChunks(absl::Span<const ChunkRun> tensors,
                         absl::Span<const int64_t> part_ends);

}  // namespace ps

#endif  // COMPRESSORS_CHUNKS_CHUNK_LAYOUT_H_
