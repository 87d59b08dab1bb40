// Plans payloads on the device: which elements each part has, which codes it
// takes, and where its bytes go. The host need not know any of it to launch
// what writes them.
#ifndef COMPRESSORS_CUDA_ENCODING_PAYLOAD_PLANS_H_
#define COMPRESSORS_CUDA_ENCODING_PAYLOAD_PLANS_H_

#include <cstdint>

#include "common/partition_point.h"
#include "compressors/cuda/encoding/block_scan.h"
#include "compressors/cuda/encoding/packing_choice.h"
#include "compressors/cuda/encoding/part_plan.h"
#include "tensor/cuda/sparse/cores/host_device.h"

namespace ps {

// The number of selected elements: known to the host, or only to the device.
struct ElementCount {
  int64_t count = 0;
  const int64_t* on_device = nullptr;  // If not null, the count is here.
};

// The position of the first of `count` ascending indices that is at least
// `position`.
PS_HOST_DEVICE inline int64_t LowerBound(const uint32_t* indices, int64_t count,
                                         int64_t position) {
  return PartitionPoint(0, count, [&](int64_t i) {
    return static_cast<int64_t>(indices[i]) < position;
  });
}

// One block: finds which of the batch's elements belong to which part.
// bucket_size: 0 unless values share scales.
template <class Block>
PS_HOST_DEVICE void FindParts(Block& block, const EncodeBatch& batch,
                              uint32_t bucket_size, const ElementCount& number,
                              LengthShared* shared) {
  block.Phase([&](int thread) {
    const int64_t count =
        number.on_device != nullptr ? *number.on_device : number.count;
    // A thread for each end of a part: a search is a chain of loads that wait
    // for each other.
    for (int end = thread; end < 2 * batch.num_parts; end += kSparseThreads) {
      PartPlan& part = batch.parts[end / 2];
      const int64_t position =
          part.begin + (end % 2 == 0 ? 0 : part.dense_size);
      (end % 2 == 0 ? part.first : part.count) =
          batch.indices == nullptr ? position
                                   : LowerBound(batch.indices, count, position);
    }
  });
  block.Phase([&](int thread) {
    for (int p = thread; p < batch.num_parts; p += kSparseThreads) {
      PartPlan& part = batch.parts[p];
      part.count -= part.first;
      part.chunk_base = part.num_chunks();
      part.bucket_base =
          bucket_size > 0 ? NumBuckets(part.count, bucket_size) : 0;
    }
  });
  ScanLengths(block, batch.num_parts, shared,
              [&](int64_t p) -> int64_t& { return batch.parts[p].chunk_base; });
  ScanLengths(block, batch.num_parts, shared, [&](int64_t p) -> int64_t& {
    return batch.parts[p].bucket_base;
  });
}

union PlanShared {
  LengthShared scan;
  // Of kSparseThreads parts at a time.
  struct {
    int64_t sizes[kSparseThreads];  // Then offsets.
    int windows[kSparseThreads];
    // Where the next part goes.
    int64_t next_offset;
    int next_window;
  } places;
};

// Replaces the chunks' lengths with the sums over all chunks before.
template <class Block>
PS_HOST_DEVICE void ScanAllLengths(Block& block, const EncodeBatch& batch,
                                   bool elias, LengthShared* shared) {
  const int64_t num_chunks = batch.num_chunks();
  if (GapLengths* const lengths = batch.lengths; lengths != nullptr) {
    ScanLengths(block, num_chunks, shared, [lengths](int64_t k) -> int64_t& {
      return lengths[k].varint_bytes;
    });
    ScanLengths(block, num_chunks, shared, [lengths](int64_t k) -> int64_t& {
      return lengths[k].rice_bits;
    });
  }
  if (LevelLengths* const lengths = batch.levels.lengths; elias) {
    ScanLengths(block, num_chunks, shared, [lengths](int64_t k) -> int64_t& {
      return lengths[k].dense_bits;
    });
    ScanLengths(block, num_chunks, shared, [lengths](int64_t k) -> int64_t& {
      return lengths[k].sparse_bits;
    });
  }
}

// Chooses the codes and sizes of a part, after the scan.
PS_HOST_DEVICE inline void ChooseCodes(const EncodeBatch& batch,
                                       const ValuePacking& values,
                                       const IndexPacking& indices,
                                       PartPlan* part) {
  if (part->count == 0) return;
  const int64_t begin = part->chunk_base;
  const int64_t end = begin + part->num_chunks();
  if (const GapLengths* const lengths = batch.lengths; lengths != nullptr) {
    part->varint_bytes =
        lengths[end].varint_bytes - lengths[begin].varint_bytes;
    part->rice_bits = lengths[end].rice_bits - lengths[begin].rice_bits;
  }
  if (const LevelLengths* const lengths = batch.levels.lengths; values.elias) {
    part->dense_bits = lengths[end].dense_bits - lengths[begin].dense_bits;
    part->sparse_bits = lengths[end].sparse_bits - lengths[begin].sparse_bits;
  }
  ChooseValueBytes(batch, values, part);
  ChooseIndexCode(indices, part);
}

// One block: chooses codes and sizes from the measured lengths, and places the
// payloads one after the other in as few windows of `window_bytes` as their
// order allows. No single one may be larger than a window.
template <class Block>
PS_HOST_DEVICE void PlanPayloads(Block& block, const EncodeBatch& batch,
                                 const ValuePacking& values,
                                 const IndexPacking& indices,
                                 int64_t window_bytes, PlanShared* shared) {
  ScanAllLengths(block, batch, values.elias, &shared->scan);
  auto& places = shared->places;
  block.Phase([&](int thread) {
    if (thread == 0) places.next_offset = places.next_window = 0;
  });
  for (int begin = 0; begin < batch.num_parts; begin += kSparseThreads) {
    const int left = batch.num_parts - begin;
    const int size = left < kSparseThreads ? left : kSparseThreads;
    block.Phase([&](int thread) {
      if (thread >= size) return;
      PartPlan* const part = batch.parts + begin + thread;
      ChooseCodes(batch, values, indices, part);
      places.sizes[thread] =
          part->count == 0 ? 0 : PlaceOf(part->value_bytes + part->index_bytes);
    });
    block.Phase([&](int thread) {
      if (thread != 0) return;
      for (int t = 0; t < size; ++t) {
        const int64_t bytes = places.sizes[t];
        if (places.next_offset + bytes > window_bytes) {
          places.next_offset = 0;
          ++places.next_window;
        }
        places.sizes[t] = places.next_offset;
        places.windows[t] = places.next_window;
        places.next_offset += bytes;
      }
    });
    block.Phase([&](int thread) {
      if (thread >= size) return;
      batch.parts[begin + thread].offset = places.sizes[thread];
      batch.parts[begin + thread].window = places.windows[thread];
    });
  }
  block.Phase([&](int thread) {
    if (thread == 0) {
      batch.parts[batch.num_parts].window = places.next_window + 1;
    }
  });
}

}  // namespace ps

#endif  // COMPRESSORS_CUDA_ENCODING_PAYLOAD_PLANS_H_
