// Fits levels to the values of each part with one block: draws a sample, sorts
// it and forms its sums; then one thread runs the descent
// (compressors/value_codes/level_descent.h).
#ifndef COMPRESSORS_CUDA_ENCODING_LEVEL_FIT_H_
#define COMPRESSORS_CUDA_ENCODING_LEVEL_FIT_H_

#include <cstdint>

#include "compressors/cuda/encoding/level_values.h"
#include "compressors/cuda/encoding/part_plan.h"
#include "compressors/value_codes/level_descent.h"
#include "compressors/value_codes/level_layouts.h"
#include "compressors/value_codes/levels.h"
#include "tensor/cuda/sparse/cores/host_device.h"

namespace ps {

static_assert(kSparseThreads * kSampleRun == kMaxSample, "a run a thread");

struct FitShared {
  SampleSums runs[kSparseThreads];
};

// The number of elements to allocate for sorting a sample: the next power of
// two.
PS_HOST_DEVICE inline int64_t SampleRoom(int64_t count) {
  int64_t room = 1;
  while (room < SampleSize(count)) room *= 2;
  return room;
}

// Sorts in ascending order. size: a power of two. Bitonic sort: Batcher,
// "Sorting networks and their applications", AFIPS 1968.
template <class Block>
PS_HOST_DEVICE void SortNumbers(Block& block, int64_t size, uint64_t* numbers) {
  for (int64_t sorted = 2; sorted <= size; sorted *= 2) {
    for (int64_t apart = sorted / 2; apart > 0; apart /= 2) {
      block.Phase([&](int thread) {
        for (int64_t pair = thread; pair < size / 2; pair += kSparseThreads) {
          const int64_t i = 2 * pair - (pair & (apart - 1));
          const bool ascending = (i & sorted) == 0;
          const uint64_t a = numbers[i];
          const uint64_t b = numbers[i + apart];
          if ((a > b) != ascending) continue;
          numbers[i] = b;
          numbers[i + apart] = a;
        }
      });
    }
  }
}

// One block: fits the levels of part p. Runs after ScaleBuckets.
template <class Block>
PS_HOST_DEVICE void FitSamples(Block& block, const EncodeBatch& batch,
                               const ValuePacking& packing, int64_t p,
                               FitShared* shared) {
  const PartPlan& part = batch.parts[p];
  if (part.count == 0) return;
  const LevelScratch& scratch = batch.levels;
  const int64_t size = SampleSize(part.count);
  const int64_t room = SampleRoom(part.count);
  uint64_t* const sample = scratch.samples + p * scratch.max_sample;
  SampleSums* const sums = scratch.sums + p * (scratch.max_sample + 1);
  block.Phase([&](int thread) {
    for (int64_t k = thread; k < room; k += kSparseThreads) {
      sample[k] = ~uint64_t{0};  // Padding that sorts behind the sample.
      if (k >= size) continue;
      const int64_t i = SampledPlace(part.random_key, part.count, k);
      const float scale =
          scratch.scales[part.bucket_base + BucketOf(packing, i)];
      sample[k] = WeightedMagnitude(
          RelativeMagnitude(batch.values[part.first + i], scale), scale);
    }
  });
  SortNumbers(block, room, sample);
  const auto end_of_run = [size](int thread) {
    const int64_t end = (thread + 1) * kSampleRun;
    return end < size ? end : size;
  };
  block.Phase([&](int thread) {
    shared->runs[thread] = SumRun(sample, thread * kSampleRun,
                                  end_of_run(thread), SampleSums(), sums);
  });
  block.Phase([&](int thread) {
    if (thread != 0) return;
    SampleSums before;
    for (int t = 0; t < kSparseThreads; ++t) {
      const SampleSums run = shared->runs[t];
      shared->runs[t] = before;
      before.Add(run);
    }
    sums[size] = before;
  });
  block.Phase([&](int thread) {
    for (int64_t i = thread * kSampleRun; i < end_of_run(thread); ++i) {
      SampleSums before = shared->runs[thread];
      before.Add(sums[i]);
      sums[i] = before;
    }
  });
  block.Phase([&](int thread) {
    if (thread != 0) return;
    SortedSample sorted;
    sorted.elements = sample;
    sorted.sums = sums;
    sorted.size = size;
    DescendLevels(sorted, NumLevels(packing.bits), kLevelFitSweeps,
                  FittedLevels(batch, p));
  });
}

}  // namespace ps

#endif  // COMPRESSORS_CUDA_ENCODING_LEVEL_FIT_H_
