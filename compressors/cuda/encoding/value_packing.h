// Values as bytes, by many threads at once: sums or scales where a code has
// them, then each value by itself. The bytes, and what is lost, are those of
// compressors/value_codes.
#ifndef COMPRESSORS_CUDA_ENCODING_VALUE_PACKING_H_
#define COMPRESSORS_CUDA_ENCODING_VALUE_PACKING_H_

#include <cmath>
#include <cstdint>

#include "common/float_bits.h"
#include "compressors/cuda/encoding/part_plan.h"
#include "compressors/value_codes/levels.h"
#include "compressors/value_codes/philox_words.h"
#include "compressors/value_codes/two_byte_formats.h"
#include "compressors/value_codes/value_steps.h"
#include "compressors/value_codes/value_sums.h"
#include "tensor/cuda/sparse/cores/host_device.h"

namespace ps {

// How to write. For level codes: all but "alq", in the fixed layout.
struct ValuePacking {
  ValueCode code = ValueCode::kFp32;
  float threshold = 0;       // "two_bit_threshold".
  double clip = 0;           // "ternary".
  bool unit_scale = false;   // "sign": 1 instead of the mean magnitude.
  int bits = 0;              // Of a level code,
  uint32_t bucket_size = 0;  // and values that share a scale,
  bool euclidean = false;    // which is their norm, not the largest magnitude;
  bool exponential = false;  // levels are not uniform,
  bool nearest = false;      // and rounding is not at random.
};

PS_HOST_DEVICE inline uint32_t* ValueWords(const EncodeBatch& batch,
                                           const PartPlan& part) {
  return reinterpret_cast<uint32_t*>(batch.payloads + part.offset);
}

// Sums for codes with one scale, or two, for a payload. Sums is one of
// value_sums.h.
template <class Sums>
struct SumShared {
  Sums lanes[kSparseThreads];
  Sums stretches[kSumStretches];
};
static_assert(kSumLanes * kSumStretches == kSparseThreads,
              "a thread for each lane");

// One block: sums[chunk] of its chunk.
template <class Sums, class Block>
PS_HOST_DEVICE void SumValues(Block& block, const EncodeBatch& batch,
                              int64_t block_index, SumShared<Sums>* shared,
                              Sums* sums) {
  const int64_t chunk_index = batch.first_chunk + block_index;
  const ChunkOfPart chunk = FindChunk(batch, chunk_index);
  if (chunk.size == 0) return;
  const float* const values =
      batch.values + batch.parts[chunk.part].first + chunk.begin;
  block.Phase([&](int thread) {
    Sums lane;
    const int first = thread / kSumLanes * kSumStretch + thread % kSumLanes;
    for (int k = 0; k < kLaneValues; ++k) {
      const int i = first + k * kSumLanes;
      if (i < chunk.size) lane.Add(values[i]);
    }
    shared->lanes[thread] = lane;
  });
  block.Phase([&](int thread) {
    if (thread >= kSumStretches) return;
    Sums stretch;
    for (int lane = 0; lane < kSumLanes; ++lane) {
      stretch.Add(shared->lanes[thread * kSumLanes + lane]);
    }
    shared->stretches[thread] = stretch;
  });
  block.Phase([&](int thread) {
    if (thread != 0) return;
    Sums total;
    for (int s = 0; s < kSumStretches; ++s) total.Add(shared->stretches[s]);
    sums[chunk_index] = total;
  });
}

// The scales that the sums make.
PS_HOST_DEVICE inline void SetScales(const MagnitudeSum& sums,
                                     const ValuePacking&, PartPlan* part) {
  part->scales[0] = part->scales[1] = MeanMagnitude(sums, part->count);
}
PS_HOST_DEVICE inline void SetScales(const SidedSums& sums, const ValuePacking&,
                                     PartPlan* part) {
  part->scales[0] = MeanOfSide(sums, 0);
  part->scales[1] = MeanOfSide(sums, 1);
}
PS_HOST_DEVICE inline void SetScales(const SpreadSums& sums,
                                     const ValuePacking& packing,
                                     PartPlan* part) {
  part->scales[0] = ClippedScale(sums, part->count, packing.clip);
}

template <class Sums>
struct FoldValuesShared {
  Sums chunks[kSparseThreads];
  Sums total;
};

// One block, of part p: from the sums of its chunks to its scales.
template <class Sums, class Block>
PS_HOST_DEVICE void FoldValues(Block& block, const EncodeBatch& batch,
                               const ValuePacking& packing, int64_t p,
                               const Sums* sums,
                               FoldValuesShared<Sums>* shared) {
  PartPlan* const part = batch.parts + p;
  const int64_t num_chunks = part->num_chunks();
  block.Phase([&](int thread) {
    if (thread == 0) shared->total = Sums();
  });
  for (int64_t begin = 0; begin < num_chunks; begin += kSparseThreads) {
    block.Phase([&](int thread) {
      const int64_t chunk = begin + thread;
      if (chunk < num_chunks) {
        shared->chunks[thread] = sums[part->chunk_base + chunk];
      }
    });
    block.Phase([&](int thread) {
      if (thread != 0) return;
      for (int t = 0; t < kSparseThreads && begin + t < num_chunks; ++t) {
        shared->total.Add(shared->chunks[t]);
      }
    });
  }
  block.Phase([&](int thread) {
    if (thread == 0) SetScales(shared->total, packing, part);
  });
}

// Level codes (level_codec.h): words before the scales, and buckets whose
// scales a block computes, each by kNormLanes threads.
constexpr int kLevelHeaderWords = 2;
constexpr int kBucketsPerBlock = kSparseThreads / kNormLanes;

PS_HOST_DEVICE inline int64_t NumBuckets(int64_t count, uint32_t bucket_size) {
  return (count + bucket_size - 1) / bucket_size;
}

PS_HOST_DEVICE inline int64_t NumScaleBlocks(int64_t count,
                                             uint32_t bucket_size) {
  return (NumBuckets(count, bucket_size) + kBucketsPerBlock - 1) /
         kBucketsPerBlock;
}

struct ScaleShared {
  double squares[kSparseThreads];
  float largest[kSparseThreads];
};

// One block: header and scales of some buckets.
template <class Block>
PS_HOST_DEVICE void ScaleBuckets(Block& block, const EncodeBatch& batch,
                                 const ValuePacking& packing,
                                 int64_t block_index, ScaleShared* shared) {
  const int64_t scale_block = batch.first_scale_block + block_index;
  const PartPlan& part =
      batch.parts[PartOf(batch, scale_block, [](const PartPlan& each) {
        return each.scale_block_base;
      })];
  const int64_t first_bucket =
      (scale_block - part.scale_block_base) * kBucketsPerBlock;
  const int64_t num_buckets = NumBuckets(part.count, packing.bucket_size);
  const float* const values = batch.values + part.first;
  uint32_t* const words = ValueWords(batch, part);
  block.Phase([&](int thread) {
    const int64_t bucket = first_bucket + thread / kNormLanes;
    double squares = 0;  // Of floats, they do not overflow or underflow.
    float largest = 0;
    if (bucket < num_buckets) {
      const int64_t begin = bucket * packing.bucket_size;
      const int64_t rest = part.count - begin;
      const int64_t size =
          rest < packing.bucket_size ? rest : int64_t{packing.bucket_size};
      for (int64_t i = thread % kNormLanes; i < size; i += kNormLanes) {
        const float value = values[begin + i];
        squares += static_cast<double>(value) * static_cast<double>(value);
        const float magnitude = fabsf(value);
        if (magnitude > largest) largest = magnitude;
      }
    }
    shared->squares[thread] = squares;
    shared->largest[thread] = largest;
  });
  block.Phase([&](int thread) {
    if (first_bucket == 0 && thread == 0) {
      // The layout, 0, and the zeros are above the bits.
      words[0] = static_cast<uint32_t>(packing.bits);
      words[1] = packing.bucket_size;
    }
    const int64_t bucket = first_bucket + thread;
    if (thread >= kBucketsPerBlock || bucket >= num_buckets) return;
    float scale = 0;
    if (packing.euclidean) {
      scale = EuclideanNormOf(shared->squares + thread * kNormLanes);
    } else {
      for (int lane = 0; lane < kNormLanes; ++lane) {
        const float largest = shared->largest[thread * kNormLanes + lane];
        if (largest > scale) scale = largest;
      }
    }
    words[kLevelHeaderWords + bucket] = FloatBits(scale);
  });
}

// Gathers codes of a few bits, the first lowest, into words.
class WordWriter {
 public:
  PS_HOST_DEVICE explicit WordWriter(uint32_t* out) : out_(out) {}

  // bits: at most 32; code has no others.
  PS_HOST_DEVICE void Put(uint32_t code, int bits) {
    window_ |= uint64_t{code} << held_;
    held_ += bits;
    if (held_ < 32) return;
    *out_++ = static_cast<uint32_t>(window_);
    window_ >>= 32;
    held_ -= 32;
  }

  // Fills the last word with zeros.
  PS_HOST_DEVICE void Finish() {
    if (held_ > 0) *out_ = static_cast<uint32_t>(window_);
  }

 private:
  uint32_t* out_;
  uint64_t window_ = 0;  // Bits that are not written yet,
  int held_ = 0;         // fewer than 32 between calls.
};

// How one thread writes values of one part. Each code word has bits() bits and
// holds kPerWord values: word += Place(j, Take(i, &value)), j from 0 to
// kPerWord - 1. kUnit values fill whole words of 32 bits; a thread writes all
// of them. In front are header_words(), which WriteHeader writes.
class FloatValues {
 public:
  static constexpr int kPerWord = 1;
  static constexpr int kUnit = 1;
  PS_HOST_DEVICE FloatValues(const ValuePacking&, const PartPlan&,
                             const uint32_t*) {}
  PS_HOST_DEVICE int bits() const { return 32; }
  PS_HOST_DEVICE int64_t header_words() const { return 0; }
  PS_HOST_DEVICE void WriteHeader(uint32_t*) const {}
  PS_HOST_DEVICE uint32_t Place(int, uint32_t code) const { return code; }
  PS_HOST_DEVICE uint32_t Take(int64_t, float* value) {
    const uint32_t code = FloatBits(*value);
    *value = 0;
    return code;
  }
};

template <class Format>
class TwoByteValues {
 public:
  static constexpr int kPerWord = 1;
  static constexpr int kUnit = 2;
  PS_HOST_DEVICE TwoByteValues(const ValuePacking&, const PartPlan&,
                               const uint32_t*) {}
  PS_HOST_DEVICE int bits() const { return 16; }
  PS_HOST_DEVICE int64_t header_words() const { return 0; }
  PS_HOST_DEVICE void WriteHeader(uint32_t*) const {}
  PS_HOST_DEVICE uint32_t Place(int, uint32_t code) const { return code; }
  PS_HOST_DEVICE uint32_t Take(int64_t, float* value) {
    const uint16_t code = Format::Narrow(*value);
    *value -= Format::Widen(code);
    return code;
  }
};

// "sign", with one scale, and "onebit", with two.
template <int kNumScales>
class SignValues {
 public:
  static constexpr int kPerWord = 1;
  static constexpr int kUnit = 32;
  PS_HOST_DEVICE SignValues(const ValuePacking&, const PartPlan& part,
                            const uint32_t*)
      : other_(part.scales[0]), negative_(part.scales[1]) {}
  PS_HOST_DEVICE int bits() const { return 1; }
  PS_HOST_DEVICE int64_t header_words() const { return kNumScales; }
  PS_HOST_DEVICE void WriteHeader(uint32_t* words) const {
    words[0] = FloatBits(other_);
    if (kNumScales > 1) words[1] = FloatBits(negative_);
  }
  PS_HOST_DEVICE uint32_t Place(int, uint32_t code) const { return code; }
  PS_HOST_DEVICE uint32_t Take(int64_t, float* value) {
    return static_cast<uint32_t>(TakeSign(other_, negative_, value));
  }

 private:
  const float other_;
  const float negative_;
};

class PairValues {
 public:
  static constexpr int kPerWord = 4;
  static constexpr int kUnit = 16;
  PS_HOST_DEVICE PairValues(const ValuePacking& packing, const PartPlan&,
                            const uint32_t*)
      : threshold_(packing.threshold) {}
  PS_HOST_DEVICE int bits() const { return 8; }
  PS_HOST_DEVICE int64_t header_words() const { return 1; }
  PS_HOST_DEVICE void WriteHeader(uint32_t* words) const {
    *words = FloatBits(threshold_);
  }
  // The first in the highest bits.
  PS_HOST_DEVICE uint32_t Place(int j, uint32_t code) const {
    return code << (6 - 2 * j);
  }
  PS_HOST_DEVICE uint32_t Take(int64_t, float* value) {
    return static_cast<uint32_t>(TakePair(threshold_, value));
  }

 private:
  const float threshold_;
};

class TernaryValues {
 public:
  static constexpr int kPerWord = 5;
  static constexpr int kUnit = 20;
  PS_HOST_DEVICE TernaryValues(const ValuePacking&, const PartPlan& part,
                               const uint32_t*)
      : scale_(part.scales[0]), draws_(part.random_key) {}
  PS_HOST_DEVICE int bits() const { return 8; }
  PS_HOST_DEVICE int64_t header_words() const { return 1; }
  PS_HOST_DEVICE void WriteHeader(uint32_t* words) const {
    *words = FloatBits(scale_);
  }
  PS_HOST_DEVICE uint32_t Place(int j, uint32_t code) const {
    for (; j > 0; --j) code *= 3;
    return code;
  }
  PS_HOST_DEVICE uint32_t Take(int64_t i, float* value) {
    return static_cast<uint32_t>(TernaryDigit(
        TakeLevel(UniformLevels(), scale_, 2, draws_.At(i), value)));
  }

 private:
  const float scale_;
  DrawSequence draws_;
};

class NaturalValues {
 public:
  static constexpr int kPerWord = 1;
  static constexpr int kUnit = 32;
  PS_HOST_DEVICE NaturalValues(const ValuePacking&, const PartPlan& part,
                               const uint32_t*)
      : draws_(part.random_key) {}
  PS_HOST_DEVICE int bits() const { return kNaturalBits; }
  PS_HOST_DEVICE int64_t header_words() const { return 0; }
  PS_HOST_DEVICE void WriteHeader(uint32_t*) const {}
  PS_HOST_DEVICE uint32_t Place(int, uint32_t code) const { return code; }
  PS_HOST_DEVICE uint32_t Take(int64_t i, float* value) {
    return TakeNatural(draws_.At(i), value);
  }

 private:
  DrawSequence draws_;
};

// After ScaleBuckets, which has written the header.
template <class Levels>
class LevelValues {
 public:
  static constexpr int kPerWord = 1;
  static constexpr int kUnit = 32;
  PS_HOST_DEVICE LevelValues(const ValuePacking& packing, const PartPlan& part,
                             const uint32_t* words)
      : packing_(packing),
        scales_(words + kLevelHeaderWords),
        num_buckets_(NumBuckets(part.count, packing.bucket_size)),
        draws_(part.random_key) {}
  PS_HOST_DEVICE int bits() const { return packing_.bits; }
  PS_HOST_DEVICE int64_t header_words() const {
    return kLevelHeaderWords + num_buckets_;
  }
  PS_HOST_DEVICE void WriteHeader(uint32_t*) const {}
  PS_HOST_DEVICE uint32_t Place(int, uint32_t code) const { return code; }
  PS_HOST_DEVICE uint32_t Take(int64_t i, float* value) {
    // Payloads have fewer than 2^32 values.
    const uint32_t bucket = static_cast<uint32_t>(i) / packing_.bucket_size;
    return TakeLevel(Levels(), FloatFromBits(scales_[bucket]), packing_.bits,
                     packing_.nearest ? 0.5f : draws_.At(i), value);
  }

 private:
  const ValuePacking& packing_;
  const uint32_t* const scales_;
  const int64_t num_buckets_;
  DrawSequence draws_;
};

// Writes the units that begin in the chunk.
template <class Values, class Block>
PS_HOST_DEVICE void PackUnits(Block& block, const EncodeBatch& batch,
                              const ValuePacking& packing,
                              const ChunkOfPart& chunk) {
  const PartPlan& part = batch.parts[chunk.part];
  float* const values = batch.values + part.first;
  uint32_t* const words = ValueWords(batch, part);
  const int64_t first_unit = (chunk.begin + Values::kUnit - 1) / Values::kUnit;
  const int64_t end_unit =
      (chunk.begin + chunk.size + Values::kUnit - 1) / Values::kUnit;
  block.Phase([&](int thread) {
    Values code(packing, part, words);
    if (chunk.begin == 0 && thread == 0) code.WriteHeader(words);
    uint32_t* const out = words + code.header_words();
    const int64_t unit_words =
        Values::kUnit / Values::kPerWord * code.bits() / 32;
    for (int64_t unit = first_unit + thread; unit < end_unit;
         unit += kSparseThreads) {
      WordWriter writer(out + unit * unit_words);
      const int64_t begin = unit * Values::kUnit;
      const int64_t end = begin + Values::kUnit < part.count
                              ? begin + Values::kUnit
                              : part.count;
      for (int64_t i = begin; i < end; i += Values::kPerWord) {
        uint32_t word = 0;
        for (int j = 0; j < Values::kPerWord && i + j < end; ++j) {
          word += code.Place(j, code.Take(i + j, values + i + j));
        }
        writer.Put(word, code.bits());
      }
      writer.Finish();
    }
  });
}

// One block: the value bytes of its chunk. The last bytes of the last word,
// past the value bytes, become zeros.
template <class Block>
PS_HOST_DEVICE void PackValues(Block& block, const EncodeBatch& batch,
                               const ValuePacking& packing,
                               int64_t block_index) {
  const ChunkOfPart chunk = FindChunk(batch, batch.first_chunk + block_index);
  if (chunk.size == 0) return;
  switch (packing.code) {
    case ValueCode::kFp32:
      PackUnits<FloatValues>(block, batch, packing, chunk);
      break;
    case ValueCode::kFp16:
      PackUnits<TwoByteValues<Fp16>>(block, batch, packing, chunk);
      break;
    case ValueCode::kBf16:
      PackUnits<TwoByteValues<Bf16>>(block, batch, packing, chunk);
      break;
    case ValueCode::kSign:
      PackUnits<SignValues<1>>(block, batch, packing, chunk);
      break;
    case ValueCode::kOneBit:
      PackUnits<SignValues<2>>(block, batch, packing, chunk);
      break;
    case ValueCode::kTernary:
      PackUnits<TernaryValues>(block, batch, packing, chunk);
      break;
    case ValueCode::kTwoBitThreshold:
      PackUnits<PairValues>(block, batch, packing, chunk);
      break;
    case ValueCode::kNatural:
      PackUnits<NaturalValues>(block, batch, packing, chunk);
      break;
    default:  // Level codes.
      if (packing.exponential) {
        PackUnits<LevelValues<ExponentialLevels>>(block, batch, packing, chunk);
      } else {
        PackUnits<LevelValues<UniformLevels>>(block, batch, packing, chunk);
      }
      break;
  }
}

}  // namespace ps

#endif  // COMPRESSORS_CUDA_ENCODING_VALUE_PACKING_H_
