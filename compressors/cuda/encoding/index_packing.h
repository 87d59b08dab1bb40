// Writes ascending indices as bytes with many threads: it measures the lengths
// of all codes, scans them once, and writes to the resulting positions. The
// bytes are those of compressors/index_codes.
#ifndef COMPRESSORS_CUDA_ENCODING_INDEX_PACKING_H_
#define COMPRESSORS_CUDA_ENCODING_INDEX_PACKING_H_

#include <cstdint>

#include "compressors/cuda/encoding/block_scan.h"
#include "compressors/cuda/encoding/part_plan.h"
#include "compressors/cuda/encoding/stretch.h"
#include "compressors/index_codes/index_sizes.h"
#include "compressors/payload/bits.h"
#include "tensor/cuda/sparse/cores/host_device.h"
#include "tensor/cuda/sparse/cores/tile.h"

namespace ps {

// The index bytes of a payload as a stream of bits
// (compressors/payload/bit_stream.h), zeros at first. Bits are set by words, so
// bit 0 is the first bit of the payload's values. "rice" is written inverted:
// its unary parts are ones, so that a gap of any length costs the same, and
// CopyPayloads inverts the bytes.
class IndexBits {
 public:
  PS_HOST_DEVICE IndexBits(const EncodeBatch& batch, const PartPlan& part)
      : words_(ValueWords(batch, part)), begin_(8 * part.value_bytes) {}

  // Sets a code of at most 32 bits at `position`, counted from the first index
  // byte. Each bit belongs to one element, but a word to several.
  PS_HOST_DEVICE void Set(int64_t position, uint32_t bits) const {
    const int64_t at = begin_ + position;
    const uint64_t shifted = uint64_t{bits} << (at % 32);
    AtomicOr(words_ + at / 32, static_cast<uint32_t>(shifted));
    if (shifted >> 32 != 0) {
      AtomicOr(words_ + at / 32 + 1, static_cast<uint32_t>(shifted >> 32));
    }
  }

 private:
  uint32_t* const words_;
  const int64_t begin_;
};

// The number of positions skipped before element i of a part.
PS_HOST_DEVICE inline uint32_t GapBefore(const EncodeBatch& batch,
                                         const PartPlan& part, int64_t i) {
  const uint32_t* const indices = batch.indices + part.first;
  const uint32_t next =
      i == 0 ? static_cast<uint32_t>(part.begin) : indices[i - 1] + 1;
  return indices[i] - next;
}

// One thread's share of a chunk's gaps.
using GapShare = Share<uint32_t, kItemsPerThread>;

PS_HOST_DEVICE inline GapShare GapsOf(const EncodeBatch& batch,
                                      const PartPlan& part,
                                      const ChunkOfPart& chunk, int thread) {
  return GapShare(thread, chunk.size, [&](int i) {
    return GapBefore(batch, part, chunk.begin + i);
  });
}

struct MeasureShared {
  LengthShared varint;
  LengthShared rice;
};

// One block: computes batch.lengths of its chunk.
template <class Block>
PS_HOST_DEVICE void MeasureGaps(Block& block, const EncodeBatch& batch,
                                int64_t chunk_index, MeasureShared* shared) {
  const ChunkOfPart chunk = FindChunk(batch, chunk_index);
  if (chunk.size == 0) return;
  const PartPlan& part = batch.parts[chunk.part];
  const int k = RiceParameter(part.count, part.dense_size);
  block.Phase([&](int thread) {
    GapLengths lengths;
    GapsOf(batch, part, chunk, thread)
        .ForEach(thread, chunk.size, [&](int, uint32_t gap) {
          lengths.varint_bytes += VarintBytes(gap);
          lengths.rice_bits += int64_t{gap >> k} + 1 + k;
        });
    shared->varint.lengths[thread] = lengths.varint_bytes;
    shared->rice.lengths[thread] = lengths.rice_bits;
  });
  SumGroups(block, &shared->varint);
  SumGroups(block, &shared->rice);
  block.Phase([&](int thread) {
    if (thread != 0) return;
    batch.lengths[chunk_index].varint_bytes = TotalLength(shared->varint);
    batch.lengths[chunk_index].rice_bits = TotalLength(shared->rice);
  });
}

struct IndexShared {
  uint32_t gaps[kPaddedTile];
  LengthShared lengths;
};

// Calls write(i, gap, position) for each element of the chunk. i counts within
// the part; `position` is `base` plus the lengths, length(gap), of the elements
// before it in the chunk.
template <class Block, class Length, class Write>
PS_HOST_DEVICE void ForEachGapAtOnce(Block& block, const EncodeBatch& batch,
                                     const PartPlan& part,
                                     const ChunkOfPart& chunk, int64_t base,
                                     IndexShared* shared, Length length,
                                     Write write) {
  block.Phase([&](int thread) {
    GapsOf(batch, part, chunk, thread)
        .ForEach(thread, chunk.size, [&](int i, uint32_t gap) {
          shared->gaps[PaddedIndex(i)] = gap;
        });
  });
  block.Phase([&](int thread) {
    int64_t sum = 0;
    for (int k = 0; k < kItemsPerThread; ++k) {
      const int i = thread * kItemsPerThread + k;
      if (i < chunk.size) sum += length(shared->gaps[PaddedIndex(i)]);
    }
    shared->lengths.lengths[thread] = sum;
  });
  SumGroups(block, &shared->lengths);
  block.Phase([&](int thread) {
    int64_t position = base + LengthBefore(shared->lengths, thread);
    for (int k = 0; k < kItemsPerThread; ++k) {
      const int i = thread * kItemsPerThread + k;
      if (i >= chunk.size) break;
      const uint32_t gap = shared->gaps[PaddedIndex(i)];
      write(chunk.begin + i, gap, position);
      position += length(gap);
    }
  });
}

// Sets the bits that are zeros in the payload: see IndexBits.
template <class Block>
PS_HOST_DEVICE void WriteRice(Block& block, const EncodeBatch& batch,
                              const PartPlan& part, const ChunkOfPart& chunk,
                              int64_t before, IndexShared* shared) {
  constexpr int kParameterBits = 8 * kRiceParameterBytes;
  const IndexBits bits(batch, part);
  const int k = RiceParameter(part.count, part.dense_size);
  const uint32_t low_mask = static_cast<uint32_t>(LowBits(k));
  ForEachGapAtOnce(
      block, batch, part, chunk, kParameterBits + before, shared,
      [k](uint32_t gap) { return int64_t{gap >> k} + 1 + k; },
      [&](int64_t i, uint32_t gap, int64_t position) {
        const int64_t zero = position + (gap >> k);
        bits.Set(zero, 1u | (~gap & low_mask) << 1);
        if (i == 0) bits.Set(0, ~static_cast<uint32_t>(k) & 0xff);
        if (i + 1 < part.count) return;
        // The last byte is filled with zeros.
        const int64_t end = zero + 1 + k;
        bits.Set(end, static_cast<uint32_t>(
                          LowBits(static_cast<int>((8 - end % 8) % 8))));
      });
}

template <class Block>
PS_HOST_DEVICE void WriteVarints(Block& block, const EncodeBatch& batch,
                                 const PartPlan& part, const ChunkOfPart& chunk,
                                 int64_t before, IndexShared* shared) {
  const IndexBits bits(batch, part);
  ForEachGapAtOnce(
      block, batch, part, chunk, before, shared,
      [](uint32_t gap) { return int64_t{VarintBytes(gap)}; },
      [&](int64_t, uint32_t gap, int64_t position) {
        for (; gap >= kVarintMore; gap >>= kVarintBits) {
          bits.Set(8 * position++, (gap | kVarintMore) & 0xff);
        }
        bits.Set(8 * position, gap);
      });
}

// Calls write(i, position) for each element of the chunk; i counts within the
// part, and positions are relative to its begin.
template <class Block, class Write>
PS_HOST_DEVICE void ForEachPosition(Block& block, const EncodeBatch& batch,
                                    const PartPlan& part,
                                    const ChunkOfPart& chunk, Write write) {
  block.Phase([&](int thread) {
    for (int j = thread; j < chunk.size; j += kSparseThreads) {
      const int64_t i = chunk.begin + j;
      write(i,
            batch.indices[part.first + i] - static_cast<uint32_t>(part.begin));
    }
  });
}

template <class Block>
PS_HOST_DEVICE void WriteEliasFano(Block& block, const EncodeBatch& batch,
                                   const PartPlan& part,
                                   const ChunkOfPart& chunk) {
  const IndexBits bits(batch, part);
  const EliasFanoLayout layout(part.count, part.dense_size);
  const uint32_t low_mask = static_cast<uint32_t>(LowBits(layout.low_bits));
  ForEachPosition(block, batch, part, chunk, [&](int64_t i, uint32_t position) {
    bits.Set(i * layout.low_bits, position & low_mask);
    bits.Set(8 * layout.low_bytes + (position >> layout.low_bits) + i, 1u);
  });
}

// The lengths of the gaps before the chunk in its part.
PS_HOST_DEVICE inline GapLengths LengthsBefore(const EncodeBatch& batch,
                                               const PartPlan& part,
                                               const ChunkOfPart& chunk) {
  const GapLengths* const first = batch.lengths + part.chunk_base;
  GapLengths lengths = first[chunk.begin / kEncodeChunk];
  lengths.varint_bytes -= first->varint_bytes;
  lengths.rice_bits -= first->rice_bits;
  return lengths;
}

// One block: writes the index bytes of a chunk.
template <class Block>
PS_HOST_DEVICE void WriteIndices(Block& block, const EncodeBatch& batch,
                                 const ChunkOfPart& chunk,
                                 IndexShared* shared) {
  const PartPlan& part = batch.parts[chunk.part];
  const IndexBits bits(batch, part);
  switch (part.index_code) {
    case IndexCode::kRaw32:
      ForEachPosition(
          block, batch, part, chunk,
          [&](int64_t i, uint32_t position) { bits.Set(32 * i, position); });
      break;
    case IndexCode::kDeltaVarint:
      WriteVarints(block, batch, part, chunk,
                   LengthsBefore(batch, part, chunk).varint_bytes, shared);
      break;
    case IndexCode::kBitmap:
      ForEachPosition(
          block, batch, part, chunk,
          [&](int64_t, uint32_t position) { bits.Set(position, 1u); });
      break;
    case IndexCode::kRice:
      WriteRice(block, batch, part, chunk,
                LengthsBefore(batch, part, chunk).rice_bits, shared);
      break;
    case IndexCode::kEliasFano:
      WriteEliasFano(block, batch, part, chunk);
      break;
    default:  // kDense has no indices.
      break;
  }
}

}  // namespace ps

#endif  // COMPRESSORS_CUDA_ENCODING_INDEX_PACKING_H_
