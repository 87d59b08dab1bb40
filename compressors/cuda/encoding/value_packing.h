// Writes values as bytes with many threads: first the sums that a code needs,
// then each value separately. The bytes and the errors are those of
// compressors/value_codes. For level codes see level_values.h and
// level_packing.h.
#ifndef COMPRESSORS_CUDA_ENCODING_VALUE_PACKING_H_
#define COMPRESSORS_CUDA_ENCODING_VALUE_PACKING_H_

#include <cstdint>

#include "common/float_bits.h"
#include "compressors/cuda/encoding/level_values.h"
#include "compressors/cuda/encoding/part_plan.h"
#include "compressors/cuda/encoding/stretch.h"
#include "compressors/value_codes/philox_words.h"
#include "compressors/value_codes/two_byte_formats.h"
#include "compressors/value_codes/value_steps.h"
#include "compressors/value_codes/value_sums.h"
#include "tensor/cuda/sparse/cores/host_device.h"

namespace ps {

// Sums for codes with one or two scales per payload. Sums is one of the types
// of value_sums.h.
template <class Sums>
struct SumShared {
  Sums lanes[kSparseThreads];
  Sums stretches[kSumStretches];
};
static_assert(kSumLanes * kSumStretches == kSparseThreads,
              "a thread for each lane");

// One block: computes sums[chunk] of its chunk.
template <class Sums, class Block>
PS_HOST_DEVICE void SumValues(Block& block, const EncodeBatch& batch,
                              int64_t chunk_index, SumShared<Sums>* shared,
                              Sums* sums) {
  const ChunkOfPart chunk = FindChunk(batch, chunk_index);
  if (chunk.size == 0) return;
  const float* const values =
      batch.values + batch.parts[chunk.part].first + chunk.begin;
  block.Phase([&](int thread) {
    Sums lane;
    const int first = thread / kSumLanes * kSumStretch + thread % kSumLanes;
    // All values are loaded before any is added.
    float loaded[kLaneValues];
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int k = 0; k < kLaneValues; ++k) {
      const int i = first + k * kSumLanes;
      loaded[k] = i < chunk.size ? values[i] : 0;
    }
    for (int k = 0; k < kLaneValues; ++k) {
      if (first + k * kSumLanes < chunk.size) lane.Add(loaded[k]);
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

// Computes the scales from the sums.
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

// One block, for part p: computes its scales from the sums of its chunks.
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

// Packs codes of a few bits into words, lowest bits first.
class WordWriter {
 public:
  PS_HOST_DEVICE explicit WordWriter(uint32_t* out) : out_(out) {}

  // bits: at most 32. code has no higher bits set.
  PS_HOST_DEVICE void Put(uint32_t code, int bits) {
    window_ |= uint64_t{code} << held_;
    held_ += bits;
    if (held_ < 32) return;
    *out_++ = static_cast<uint32_t>(window_);
    window_ >>= 32;
    held_ -= 32;
  }

  // Writes the rest of the bits. Their word may have other bits behind them,
  // which other threads write.
  PS_HOST_DEVICE void Finish() {
    if (held_ > 0) AtomicOr(out_, static_cast<uint32_t>(window_));
  }

 private:
  uint32_t* out_;
  uint64_t window_ = 0;  // The bits that are not written yet;
  int held_ = 0;         // fewer than 32 between calls.
};

// The classes below define how one thread writes values of one part. Each code
// word has bits() bits and holds kPerWord values: word += Place(j, Take(i,
// &value)), j from 0 to kPerWord - 1. kUnit values fill whole words of 32 bits,
// all of which one thread writes. The header_words() words in front are written
// by WriteHeader.
class FloatValues {
 public:
  static constexpr int kPerWord = 1;
  static constexpr int kUnit = 1;
  PS_HOST_DEVICE FloatValues(const ValuePacking&, const EncodeBatch&,
                             const PartPlan&) {}
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
  PS_HOST_DEVICE TwoByteValues(const ValuePacking&, const EncodeBatch&,
                               const PartPlan&) {}
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
  PS_HOST_DEVICE SignValues(const ValuePacking&, const EncodeBatch&,
                            const PartPlan& part)
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
  PS_HOST_DEVICE PairValues(const ValuePacking& packing, const EncodeBatch&,
                            const PartPlan&)
      : threshold_(packing.threshold) {}
  PS_HOST_DEVICE int bits() const { return 8; }
  PS_HOST_DEVICE int64_t header_words() const { return 1; }
  PS_HOST_DEVICE void WriteHeader(uint32_t* words) const {
    *words = FloatBits(threshold_);
  }
  // The first pair goes to the highest bits.
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
  PS_HOST_DEVICE TernaryValues(const ValuePacking&, const EncodeBatch&,
                               const PartPlan& part)
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
  PS_HOST_DEVICE NaturalValues(const ValuePacking&, const EncodeBatch&,
                               const PartPlan& part)
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

// Writes the units that begin in the chunk.
template <class Values, class Block>
PS_HOST_DEVICE void PackUnits(Block& block, const EncodeBatch& batch,
                              const ValuePacking& packing,
                              const ChunkOfPart& chunk, Stretch* stretch) {
  const PartPlan& part = batch.parts[chunk.part];
  uint32_t* const words = ValueWords(batch, part);
  const int64_t first_unit = (chunk.begin + Values::kUnit - 1) / Values::kUnit;
  const int64_t end_unit =
      (chunk.begin + chunk.size + Values::kUnit - 1) / Values::kUnit;
  const int64_t begin = first_unit * Values::kUnit;
  const int64_t end = end_unit * Values::kUnit < part.count
                          ? end_unit * Values::kUnit
                          : part.count;
  if (end <= begin) return;  // The last values belong to an earlier unit.
  static_assert(kEncodeChunk + Values::kUnit <= Stretch::kMaxSize, "fits");
  const int size = static_cast<int>(end - begin);
  float* const values = batch.values + part.first + begin;
  LoadStretch(block, values, size, stretch);
  block.Phase([&](int thread) {
    Values code(packing, batch, part);
    if (chunk.begin == 0 && thread == 0) code.WriteHeader(words);
    uint32_t* const out = words + code.header_words();
    const int64_t unit_words =
        Values::kUnit / Values::kPerWord * code.bits() / 32;
    for (int first = thread * Values::kUnit; first < size;
         first += kSparseThreads * Values::kUnit) {
      WordWriter writer(out + (begin + first) / Values::kUnit * unit_words);
      const int last =
          first + Values::kUnit < size ? first + Values::kUnit : size;
      for (int i = first; i < last; i += Values::kPerWord) {
        uint32_t word = 0;
        for (int j = 0; j < Values::kPerWord && i + j < last; ++j) {
          word += code.Place(j, code.Take(begin + i + j, stretch->at(i + j)));
        }
        writer.Put(word, code.bits());
      }
      writer.Finish();
    }
  });
  StoreStretch(block, stretch, size, values);
}

template <class Values>
struct PackerType {
  using type = Values;
};

// Calls visit(PackerType<Values>()) with the class that writes values, or fixed
// levels.
template <class Visit>
PS_HOST_DEVICE void VisitPacker(const ValuePacking& packing, Visit visit) {
  switch (packing.code) {
    case ValueCode::kFp32:
      return visit(PackerType<FloatValues>());
    case ValueCode::kFp16:
      return visit(PackerType<TwoByteValues<Fp16>>());
    case ValueCode::kBf16:
      return visit(PackerType<TwoByteValues<Bf16>>());
    case ValueCode::kSign:
      return visit(PackerType<SignValues<1>>());
    case ValueCode::kOneBit:
      return visit(PackerType<SignValues<2>>());
    case ValueCode::kTernary:
      return visit(PackerType<TernaryValues>());
    case ValueCode::kTwoBitThreshold:
      return visit(PackerType<PairValues>());
    case ValueCode::kNatural:
      return visit(PackerType<NaturalValues>());
    default:
      break;
  }
  switch (packing.spacing) {
    case LevelSpacing::kUniform:
      return visit(PackerType<LevelValues<UniformLevels>>());
    case LevelSpacing::kExponential:
      return visit(PackerType<LevelValues<ExponentialLevels>>());
    case LevelSpacing::kFitted:
      return visit(PackerType<LevelValues<TableLevels>>());
  }
}

// One block: writes the value bytes of a chunk, unless they are Elias's codes.
template <class Block>
PS_HOST_DEVICE void PackValues(Block& block, const EncodeBatch& batch,
                               const ValuePacking& packing,
                               const ChunkOfPart& chunk, Stretch* stretch) {
  if (packing.has_levels()) WriteLevelFront(block, batch, packing, chunk);
  VisitPacker(packing, [&](auto packer) {
    PackUnits<typename decltype(packer)::type>(block, batch, packing, chunk,
                                               stretch);
  });
}

}  // namespace ps

#endif  // COMPRESSORS_CUDA_ENCODING_VALUE_PACKING_H_
