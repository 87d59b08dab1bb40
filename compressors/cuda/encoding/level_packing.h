// Packs level codes in Elias's layouts
// (compressors/value_codes/level_stream.h): first stores the codes separately,
// then counts the bits of each layout, scans them once, and writes to the
// resulting positions in the smaller layout.
#ifndef COMPRESSORS_CUDA_ENCODING_LEVEL_PACKING_H_
#define COMPRESSORS_CUDA_ENCODING_LEVEL_PACKING_H_

#include <cstdint>

#include "compressors/cuda/encoding/block_scan.h"
#include "compressors/cuda/encoding/level_values.h"
#include "compressors/cuda/encoding/part_plan.h"
#include "compressors/cuda/encoding/stretch.h"
#include "compressors/payload/bits.h"
#include "compressors/value_codes/bit_string.h"
#include "compressors/value_codes/level_layouts.h"
#include "compressors/value_codes/levels.h"
#include "tensor/cuda/sparse/cores/host_device.h"

namespace ps {

struct LevelShared {
  LastShared last;
  LengthShared dense;
  LengthShared sparse;
};

struct RoundShared {
  Stretch values;
  LastShared last;
};

// Elements [begin, end) of a part: the share of one thread in a chunk.
struct ElementRun {
  int64_t begin = 0;
  int64_t end = 0;
};

PS_HOST_DEVICE inline ElementRun RunOf(const ChunkOfPart& chunk, int thread) {
  const auto place = [&chunk](int t) {
    const int i = t * kItemsPerThread;
    return chunk.begin + (i < chunk.size ? i : chunk.size);
  };
  return {place(thread), place(thread + 1)};
}

PS_HOST_DEVICE inline uint8_t* CodesOf(const EncodeBatch& batch,
                                       const PartPlan& part) {
  return batch.levels.codes + part.chunk_base * kEncodeChunk;
}

template <class Levels, class Block>
PS_HOST_DEVICE void RoundChunk(Block& block, const EncodeBatch& batch,
                               const ValuePacking& packing,
                               const ChunkOfPart& chunk, RoundShared* shared) {
  const PartPlan& part = batch.parts[chunk.part];
  float* const values = batch.values + part.first + chunk.begin;
  uint8_t* const codes = CodesOf(batch, part);
  uint32_t* const bucket_levels = batch.levels.bucket_levels + part.bucket_base;
  LoadStretch(block, values, chunk.size, &shared->values);
  block.Phase([&](int thread) {
    const ElementRun run = RunOf(chunk, thread);
    LevelValues<Levels> level(packing, batch, part);
    int64_t last = -1;
    uint32_t num_levels = 0;  // Above 0, in the run and one bucket.
    for (int64_t i = run.begin; i < run.end; ++i) {
      const uint32_t code =
          level.Take(i, shared->values.at(static_cast<int>(i - chunk.begin)));
      codes[i] = static_cast<uint8_t>(code);
      if (code != 0) {
        last = i;
        ++num_levels;
      }
      const uint32_t bucket = BucketOf(packing, i);
      const bool ends = i + 1 == run.end || BucketOf(packing, i + 1) != bucket;
      if (!ends || num_levels == 0) continue;
      AtomicAdd(bucket_levels + bucket, num_levels);
      num_levels = 0;
    }
    shared->last.lasts[thread] = last;
  });
  StoreStretch(block, &shared->values, chunk.size, values);
  FindGroupLasts(block, &shared->last);
  block.Phase([&](int thread) {
    if (thread != 0) return;
    batch.levels.lengths[part.chunk_base + chunk.begin / kEncodeChunk].last =
        LastOfAll(shared->last);
  });
}

// One block: rounds its chunk to codes, and adds the number of levels above 0
// to those of its buckets. Values are replaced with their errors. Runs after
// ScaleBuckets, and after FitSamples if levels are fitted.
template <class Block>
PS_HOST_DEVICE void RoundLevels(Block& block, const EncodeBatch& batch,
                                const ValuePacking& packing,
                                int64_t chunk_index, RoundShared* shared) {
  const ChunkOfPart chunk = FindChunk(batch, chunk_index);
  if (chunk.size == 0) return;
  switch (packing.spacing) {
    case LevelSpacing::kUniform:
      RoundChunk<UniformLevels>(block, batch, packing, chunk, shared);
      break;
    case LevelSpacing::kExponential:
      RoundChunk<ExponentialLevels>(block, batch, packing, chunk, shared);
      break;
    case LevelSpacing::kFitted:
      RoundChunk<TableLevels>(block, batch, packing, chunk, shared);
      break;
  }
}

// Calls put(string) for everything that a run adds to the stream of its part.
// last: the last position before the run with a level above 0, or -1 if there
// is none; it is ignored if it lies in another bucket.
template <class Put>
PS_HOST_DEVICE void ForEachString(const EncodeBatch& batch,
                                  const ValuePacking& packing,
                                  const PartPlan& part, bool sparse,
                                  const ElementRun& run, int64_t last,
                                  Put put) {
  const bool omega = packing.omega;
  const uint8_t* const codes = CodesOf(batch, part);
  const uint32_t* const bucket_levels =
      batch.levels.bucket_levels + part.bucket_base;
  for (int64_t i = run.begin; i < run.end; ++i) {
    const uint32_t code = codes[i];
    if (!sparse) {
      put(DenseLevel(omega, packing.bits, code));
      continue;
    }
    const uint32_t bucket = BucketOf(packing, i);
    const int64_t bucket_begin = int64_t{bucket} * packing.bucket_size;
    if (i == bucket_begin) put(EliasInteger(omega, bucket_levels[bucket] + 1));
    if (code == 0) continue;
    const int64_t before = Later(last, bucket_begin - 1);
    put(EliasInteger(omega, static_cast<uint32_t>(i - before)));
    put(SparseLevel(omega, packing.bits, code));
    last = i;
  }
}

// Fills shared->last with the last level above 0 in each thread's run.
template <class Block>
PS_HOST_DEVICE void FindLasts(Block& block, const EncodeBatch& batch,
                              const ChunkOfPart& chunk, LastShared* shared) {
  const uint8_t* const codes = CodesOf(batch, batch.parts[chunk.part]);
  block.Phase([&](int thread) {
    const ElementRun run = RunOf(chunk, thread);
    int64_t i = run.end - 1;
    while (i >= run.begin && codes[i] == 0) --i;
    shared->lasts[thread] = i < run.begin ? -1 : i;
  });
  FindGroupLasts(block, shared);
}

// One block: counts the bits of its chunk, and finds the last level above 0
// before it. Runs after RoundLevels.
template <class Block>
PS_HOST_DEVICE void MeasureLevels(Block& block, const EncodeBatch& batch,
                                  const ValuePacking& packing,
                                  int64_t chunk_index, LevelShared* shared) {
  const ChunkOfPart chunk = FindChunk(batch, chunk_index);
  if (chunk.size == 0) return;
  const PartPlan& part = batch.parts[chunk.part];
  LevelLengths* const lengths = batch.levels.lengths + part.chunk_base;
  const int64_t this_chunk = chunk.begin / kEncodeChunk;
  // The chunk in which the bucket of this chunk's first element begins.
  const int64_t first_chunk = int64_t{BucketOf(packing, chunk.begin)} *
                              packing.bucket_size / kEncodeChunk;
  block.Phase([&](int thread) {
    int64_t last = -1;
    for (int64_t k = first_chunk + thread; k < this_chunk;
         k += kSparseThreads) {
      last = Later(last, lengths[k].last);
    }
    shared->last.lasts[thread] = last;
  });
  FindGroupLasts(block, &shared->last);
  const int64_t before = LastOfAll(shared->last);
  FindLasts(block, batch, chunk, &shared->last);
  block.Phase([&](int thread) {
    const ElementRun run = RunOf(chunk, thread);
    const int64_t last = Later(before, LastBefore(shared->last, thread));
    const auto length = [&](bool sparse) {
      int64_t bits = 0;
      ForEachString(batch, packing, part, sparse, run, last,
                    [&bits](BitString string) { bits += string.length; });
      return bits;
    };
    shared->dense.lengths[thread] = length(/*sparse=*/false);
    shared->sparse.lengths[thread] = length(/*sparse=*/true);
  });
  SumGroups(block, &shared->dense);
  SumGroups(block, &shared->sparse);
  block.Phase([&](int thread) {
    if (thread != 0) return;
    lengths[this_chunk].dense_bits = TotalLength(shared->dense);
    lengths[this_chunk].sparse_bits = TotalLength(shared->sparse);
    lengths[this_chunk].before = before;
  });
}

// Writes bits from a position on, highest bit of each byte first, into zeroed
// words whose other bits may be written by other threads.
class HighBitsOfWords {
 public:
  PS_HOST_DEVICE HighBitsOfWords(uint32_t* words, int64_t position)
      : word_(words + position / 32), held_(static_cast<int>(position % 32)) {}

  PS_HOST_DEVICE void Put(BitString string) {
    if (string.length > 32) {
      PutShort({string.bits >> 32, string.length - 32});
      string = {string.bits & LowBits(32), 32};
    }
    PutShort(string);
  }

  PS_HOST_DEVICE void Finish() {
    if (held_ > 0) Set(window_ << (32 - held_));
  }

 private:
  PS_HOST_DEVICE void PutShort(BitString string) {
    window_ = window_ << string.length | string.bits;
    held_ += string.length;
    if (held_ < 32) return;
    held_ -= 32;
    Set(window_ >> held_);
    ++word_;
  }

  PS_HOST_DEVICE void Set(uint64_t bits) {
    AtomicOr(word_, ByteSwapped(static_cast<uint32_t>(bits)));
  }

  uint32_t* word_;
  uint64_t window_ = 0;  // Its lowest bits are not written yet;
  int held_;             // fewer than 32 of them between calls.
};

// One block: writes a chunk of the value bytes in the layout of its part. Runs
// after PlanPayloads.
template <class Block>
PS_HOST_DEVICE void WriteLevels(Block& block, const EncodeBatch& batch,
                                const ValuePacking& packing,
                                const ChunkOfPart& chunk, LevelShared* shared) {
  const PartPlan& part = batch.parts[chunk.part];
  const LevelLengths& first = batch.levels.lengths[part.chunk_base];
  const LevelLengths& lengths =
      batch.levels.lengths[part.chunk_base + chunk.begin / kEncodeChunk];
  const bool sparse = IsSparse(part.layout);
  const int64_t begin = sparse ? lengths.sparse_bits - first.sparse_bits
                               : lengths.dense_bits - first.dense_bits;
  WriteLevelFront(block, batch, packing, chunk);
  FindLasts(block, batch, chunk, &shared->last);
  typename Block::template PerThread<int64_t> last;
  block.Phase([&](int thread) {
    last[thread] = Later(lengths.before, LastBefore(shared->last, thread));
    int64_t bits = 0;
    ForEachString(batch, packing, part, sparse, RunOf(chunk, thread),
                  last[thread],
                  [&bits](BitString string) { bits += string.length; });
    shared->sparse.lengths[thread] = bits;
  });
  SumGroups(block, &shared->sparse);
  uint32_t* const words =
      ValueWords(batch, part) + WordsBeforeLevels(packing, part.count);
  block.Phase([&](int thread) {
    HighBitsOfWords writer(words, begin + LengthBefore(shared->sparse, thread));
    ForEachString(batch, packing, part, sparse, RunOf(chunk, thread),
                  last[thread],
                  [&writer](BitString string) { writer.Put(string); });
    writer.Finish();
  });
}

}  // namespace ps

#endif  // COMPRESSORS_CUDA_ENCODING_LEVEL_PACKING_H_
