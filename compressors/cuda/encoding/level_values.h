// Level codes (compressors/value_codes/level_codec.h): scales of buckets,
// values rounded to levels, and the part of a payload that precedes them.
#ifndef COMPRESSORS_CUDA_ENCODING_LEVEL_VALUES_H_
#define COMPRESSORS_CUDA_ENCODING_LEVEL_VALUES_H_

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "common/float_bits.h"
#include "compressors/cuda/encoding/part_plan.h"
#include "compressors/value_codes/level_layouts.h"
#include "compressors/value_codes/levels.h"
#include "compressors/value_codes/philox_words.h"
#include "compressors/value_codes/value_steps.h"
#include "compressors/value_codes/value_sums.h"
#include "tensor/cuda/sparse/cores/host_device.h"

namespace ps {

// The number of words in a payload before its levels: the header, the levels
// that are sent, and the scales.
constexpr int kLevelHeaderWords = 2;

PS_HOST_DEVICE inline int NumSentLevels(const ValuePacking& packing) {
  return packing.spacing == LevelSpacing::kFitted ? NumLevels(packing.bits) - 1
                                                  : 0;
}

PS_HOST_DEVICE inline int64_t WordsBeforeLevels(const ValuePacking& packing,
                                                int64_t count) {
  return kLevelHeaderWords + NumSentLevels(packing) +
         NumBuckets(count, packing.bucket_size);
}

// The bucket of element i of a part: payloads have fewer than 2^32 values.
PS_HOST_DEVICE inline uint32_t BucketOf(const ValuePacking& packing,
                                        int64_t i) {
  return static_cast<uint32_t>(i) / packing.bucket_size;
}

// The number of buckets per block; kNormLanes threads compute the scale of
// each.
constexpr int kBucketsPerBlock = kSparseThreads / kNormLanes;

struct ScaleShared {
  double squares[kSparseThreads];
  float largest[kSparseThreads];
};

// A bucket of a batch: values [begin, begin + size) of a part.
struct BucketOfPart {
  int part = 0;
  int64_t begin = 0;
  int64_t size = 0;  // 0 if there is no such bucket.
};

PS_HOST_DEVICE inline BucketOfPart FindBucket(const EncodeBatch& batch,
                                              const ValuePacking& packing,
                                              int64_t bucket) {
  BucketOfPart found;
  found.part = PartOf(batch, bucket,
                      [](const PartPlan& part) { return part.bucket_base; });
  const PartPlan& part = batch.parts[found.part];
  found.begin = (bucket - part.bucket_base) * packing.bucket_size;
  const int64_t left = part.count - found.begin;
  if (left > 0) {
    found.size = left < packing.bucket_size ? left : packing.bucket_size;
  }
  return found;
}

// One block: computes the scales of kBucketsPerBlock buckets, and sets their
// numbers of levels to 0 for RoundLevels.
template <class Block>
PS_HOST_DEVICE void ScaleBuckets(Block& block, const EncodeBatch& batch,
                                 const ValuePacking& packing,
                                 int64_t block_index, ScaleShared* shared) {
  const int64_t first_bucket = block_index * kBucketsPerBlock;
  block.Phase([&](int thread) {
    const BucketOfPart bucket =
        FindBucket(batch, packing, first_bucket + thread / kNormLanes);
    const float* const values =
        batch.values + batch.parts[bucket.part].first + bucket.begin;
    double squares = 0;  // Squares of floats stay in range.
    float largest = 0;
    for (int64_t i = thread % kNormLanes; i < bucket.size; i += kNormLanes) {
      const float value = values[i];
      squares += static_cast<double>(value) * static_cast<double>(value);
      const float magnitude = fabsf(value);
      if (magnitude > largest) largest = magnitude;
    }
    shared->squares[thread] = squares;
    shared->largest[thread] = largest;
  });
  block.Phase([&](int thread) {
    if (thread >= kBucketsPerBlock) return;
    const int64_t bucket = first_bucket + thread;
    if (FindBucket(batch, packing, bucket).size == 0) return;
    float scale = 0;
    if (packing.euclidean) {
      scale = EuclideanNormOf(shared->squares + thread * kNormLanes);
    } else {
      for (int lane = 0; lane < kNormLanes; ++lane) {
        const float largest = shared->largest[thread * kNormLanes + lane];
        if (largest > scale) scale = largest;
      }
    }
    batch.levels.scales[bucket] = scale;
    if (packing.elias) batch.levels.bucket_levels[bucket] = 0;
  });
}

// Fitted levels of a part, from 0 to 1.
PS_HOST_DEVICE inline float* FittedLevels(const EncodeBatch& batch,
                                          int64_t part) {
  return batch.levels.levels + part * kLevelTable;
}

// Writes the header, the levels, and the scales of the buckets that begin in
// the chunk.
template <class Block>
PS_HOST_DEVICE void WriteLevelFront(Block& block, const EncodeBatch& batch,
                                    const ValuePacking& packing,
                                    const ChunkOfPart& chunk) {
  const PartPlan& part = batch.parts[chunk.part];
  const int num_sent = NumSentLevels(packing);
  const float* const scales = batch.levels.scales + part.bucket_base;
  uint32_t* const words = ValueWords(batch, part);
  uint32_t* const levels_out = words + kLevelHeaderWords;
  uint32_t* const scales_out = levels_out + num_sent;
  const int64_t end_bucket =
      NumBuckets(chunk.begin + chunk.size, packing.bucket_size);
  block.Phase([&](int thread) {
    if (chunk.begin == 0) {
      if (thread == 0) {
        // The upper bytes, above the layout, stay zero.
        words[0] = static_cast<uint32_t>(packing.bits) |
                   static_cast<uint32_t>(part.layout) << 8;
        words[1] = packing.bucket_size;
      }
      for (int k = thread; k < num_sent; k += kSparseThreads) {
        // The levels 0 and 1 are not sent.
        levels_out[k] = FloatBits(FittedLevels(batch, chunk.part)[k + 1]);
      }
    }
    for (int64_t bucket = NumBuckets(chunk.begin, packing.bucket_size) + thread;
         bucket < end_bucket; bucket += kSparseThreads) {
      scales_out[bucket] = FloatBits(scales[bucket]);
    }
  });
}

// Rounds the values of one part to level codes; used by PackUnits
// (value_packing.h). Runs after ScaleBuckets, and after FitSamples if levels
// are fitted.
template <class Levels>
class LevelValues {
 public:
  static constexpr int kPerWord = 1;
  static constexpr int kUnit = 32;
  PS_HOST_DEVICE LevelValues(const ValuePacking& packing,
                             const EncodeBatch& batch, const PartPlan& part)
      : packing_(packing),
        levels_(LevelsOf(batch, part)),
        scales_(batch.levels.scales + part.bucket_base),
        header_words_(WordsBeforeLevels(packing, part.count)),
        draws_(part.random_key) {}
  PS_HOST_DEVICE int bits() const { return packing_.bits; }
  PS_HOST_DEVICE int64_t header_words() const { return header_words_; }
  PS_HOST_DEVICE void WriteHeader(uint32_t*) const {}
  PS_HOST_DEVICE uint32_t Place(int, uint32_t code) const { return code; }
  PS_HOST_DEVICE uint32_t Take(int64_t i, float* value) {
    return TakeLevel(levels_, scales_[BucketOf(packing_, i)], packing_.bits,
                     packing_.nearest ? 0.5f : draws_.At(i), value);
  }

 private:
  PS_HOST_DEVICE static Levels LevelsOf(const EncodeBatch& batch,
                                        const PartPlan& part) {
    if constexpr (std::is_same_v<Levels, TableLevels>) {
      return TableLevels(FittedLevels(batch, &part - batch.parts));
    } else {
      return Levels();
    }
  }

  const ValuePacking& packing_;
  const Levels levels_;
  const float* const scales_;
  const int64_t header_words_;
  DrawSequence draws_;
};

}  // namespace ps

#endif  // COMPRESSORS_CUDA_ENCODING_LEVEL_VALUES_H_
