// Writes the planned payloads: packs one window of them in device memory, where
// blocks set bits of the same word, and then copies their bytes to the host's
// memory.
#ifndef COMPRESSORS_CUDA_ENCODING_PAYLOAD_PACKING_H_
#define COMPRESSORS_CUDA_ENCODING_PAYLOAD_PACKING_H_

#include <cstdint>

#include "compressors/cuda/encoding/index_packing.h"
#include "compressors/cuda/encoding/level_packing.h"
#include "compressors/cuda/encoding/part_plan.h"
#include "compressors/cuda/encoding/stretch.h"
#include "compressors/cuda/encoding/value_packing.h"
#include "tensor/cuda/sparse/cores/host_device.h"

namespace ps {

union PackShared {
  Stretch values;
  LevelShared levels;
  IndexShared indices;
};

// The number of blocks per chunk: one for the values and, of a selection, one
// for the indices.
PS_HOST_DEVICE inline int64_t BlocksPerChunk(const EncodeBatch& batch) {
  return batch.indices == nullptr ? 1 : 2;
}

// One block: writes the values or the indices of a chunk, if its payload is in
// this window. Values are replaced with their errors.
template <class Block>
PS_HOST_DEVICE void PackPayloads(Block& block, const EncodeBatch& batch,
                                 const ValuePacking& packing, int window,
                                 int64_t block_index, PackShared* shared) {
  const int64_t blocks = BlocksPerChunk(batch);
  const ChunkOfPart chunk = FindChunk(batch, block_index / blocks);
  if (chunk.size == 0 || batch.parts[chunk.part].window != window) return;
  if (block_index % blocks == 1) {
    WriteIndices(block, batch, chunk, &shared->indices);
  } else if (packing.elias) {
    WriteLevels(block, batch, packing, chunk, &shared->levels);
  } else {
    PackValues(block, batch, packing, chunk, &shared->values);
  }
}

// Sixteen bytes that are loaded and stored at once.
struct alignas(16) Quad {
  static constexpr int kWords = 4;
  uint32_t words[kWords];
};
static_assert(kFrontBytes % sizeof(Quad) == 0 &&
                  kPlaceBytes % sizeof(Quad) == 0,
              "payloads are aligned");

// Inverts the bits that lie in bytes [begin, end) of a payload. at: the quad's
// first byte.
PS_HOST_DEVICE inline void InvertBytes(int64_t at, int64_t begin, int64_t end,
                                       Quad* quad) {
  for (int w = 0; w < Quad::kWords; ++w, at += 4) {
    const int64_t low = begin > at ? begin - at : 0;
    const int64_t high = end < at + 4 ? end - at : 4;
    if (low >= high) continue;
    quad->words[w] ^=
        static_cast<uint32_t>(LowBits(static_cast<int>(8 * high)) &
                              ~LowBits(static_cast<int>(8 * low)));
  }
}

// Quads that a thread copies at a time.
constexpr int kCopyBatch = 4;

// One of num_blocks blocks: copies the payloads of this window to the same
// places in `to`, which may be pinned memory of the host, and clears them on
// the device.
template <class Block>
PS_HOST_DEVICE void CopyPayloads(Block& block, const EncodeBatch& batch,
                                 int window, int64_t block_index,
                                 int64_t num_blocks, uint8_t* to) {
  const int64_t num_chunks = batch.num_chunks();
  for (int64_t c = block_index; c < num_chunks; c += num_blocks) {
    const ChunkOfPart chunk = FindChunk(batch, c);
    const PartPlan& part = batch.parts[chunk.part];
    if (part.window != window) continue;
    // The blocks of a part's chunks share its bytes evenly.
    const int64_t quad_bytes = sizeof(Quad);
    const int64_t bytes = part.value_bytes + part.index_bytes;
    const int64_t quads = (bytes + quad_bytes - 1) / quad_bytes;
    const int64_t share = (quads + part.num_chunks() - 1) / part.num_chunks();
    const int64_t first = chunk.begin / kEncodeChunk * share;
    const int64_t left = quads - first < share ? quads - first : share;
    const int64_t start = part.offset + kFrontBytes + first * quad_bytes;
    const int64_t value_bytes = part.value_bytes;
    const bool inverted = part.index_code == IndexCode::kRice;
    Quad* const source = reinterpret_cast<Quad*>(batch.payloads + start);
    Quad* const target = reinterpret_cast<Quad*>(to + start);
    block.Phase([&](int thread) {
      for (int64_t i = 0; i < left; i += kCopyBatch * kSparseThreads) {
        const int size = static_cast<int>(left - i < kCopyBatch * kSparseThreads
                                              ? left - i
                                              : kCopyBatch * kSparseThreads);
        const Share<Quad, kCopyBatch> quads_of_thread(
            thread, size, [&](int q) { return source[i + q]; });
        quads_of_thread.ForEach(thread, size, [&](int q, Quad quad) {
          if (inverted) {
            InvertBytes((first + i + q) * quad_bytes, value_bytes, bytes,
                        &quad);
          }
          target[i + q] = quad;
          source[i + q] = Quad();
        });
      }
    });
  }
}

}  // namespace ps

#endif  // COMPRESSORS_CUDA_ENCODING_PAYLOAD_PACKING_H_
