// Lists of the elements above a threshold, a vector at a time.
//
// Compiled once for each target of Highway, hence the guard that comes and
// goes.
#if defined(TENSOR_CPU_CPU_PACKED_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENSOR_CPU_CPU_PACKED_LANES_INL_H_
#undef TENSOR_CPU_CPU_PACKED_LANES_INL_H_
#else
#define TENSOR_CPU_CPU_PACKED_LANES_INL_H_
#endif

#include <cmath>
#include <cstdint>

#include "hwy/highway.h"
#include "tensor/cpu/cpu_lane_sums-inl.h"
#include "tensor/cpu/cpu_magnitude_loops.h"
#include "tensor/cpu/packed_lane_table.h"

HWY_BEFORE_NAMESPACE();
namespace ps {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Elements that are looked at for the list while they are in the L1 cache.
constexpr int64_t kTile = 64 * kSumLanes;

// Where the set lanes of a mask are, as the index that brings them together.
class PackedLanes {
 public:
  explicit HWY_INLINE PackedLanes(hn::Mask<FloatTag> mask) : mask_(mask) {
    uint8_t bits[8] = {};
    hn::StoreMaskBits(FloatTag(), mask, bits);
    bits_ = bits[0] | bits[1] << 8;
  }

  HWY_INLINE int64_t count() const { return hwy::PopCount(bits_); }

  // The set lanes of v first; what follows them is of no meaning.
  template <class D>
  HWY_INLINE hn::Vec<D> Pack(D d, hn::Vec<D> v) const {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET <= HWY_AVX3
    return hn::Compress(v, hn::RebindMask(d, mask_));
#else
    // Highway 1.0.3's Compress makes GCC copy its table to the stack each time.
    alignas(32) static constexpr uint32_t kShifts[8] = {0,  4,  8,  12,
                                                        16, 20, 24, 28};
    const UintTag du;
    const auto nibbles = hn::Set(du, kPackedLanes.nibbles[bits_]);
    const auto lanes = hn::And(hn::Shr(nibbles, hn::Load(du, kShifts)),
                               hn::Set(du, kFloatLanes - 1));
    return hn::TableLookupLanes(v, hn::IndicesFromVec(d, lanes));
#endif
  }

 private:
  hn::Mask<FloatTag> mask_;
  uint32_t bits_;
};

// A list that is written to whole vectors at a time.
struct ListEnd {
  float* values;
  uint32_t* indices;
};

HWY_INLINE ListEnd End(ChunkList* list, int64_t size) {
  return {list->values.data() + size, list->indices.data() + size};
}

// Where listed elements come from: Load and LoadIndices give the vector at
// position i of a chunk.
class VectorLoader {
 public:
  explicit HWY_INLINE VectorLoader(const ChunkSource& source)
      : values_(source.values), first_index_(source.first_index) {}
  HWY_INLINE Floats Load(int64_t i) const {
    return hn::LoadU(FloatTag(), values_ + i);
  }
  HWY_INLINE hn::Vec<UintTag> LoadIndices(int64_t i) const {
    return hn::Iota(UintTag(), IndexAt(i));
  }
  HWY_INLINE uint32_t IndexAt(int64_t i) const {
    return first_index_ + static_cast<uint32_t>(i);
  }

 private:
  const float* const values_;
  const uint32_t first_index_;
};

class ListLoader {
 public:
  explicit HWY_INLINE ListLoader(const ChunkSource& source)
      : values_(source.values), indices_(source.indices) {}
  HWY_INLINE Floats Load(int64_t i) const {
    return hn::LoadU(FloatTag(), values_ + i);
  }
  HWY_INLINE hn::Vec<UintTag> LoadIndices(int64_t i) const {
    return hn::LoadU(UintTag(), indices_ + i);
  }
  HWY_INLINE uint32_t IndexAt(int64_t i) const { return indices_[i]; }

 private:
  const float* const values_;
  const uint32_t* const indices_;
};

// Adds again: what was added is in the L1 cache, and the sum may not be.
class SumLoader {
 public:
  explicit HWY_INLINE SumLoader(const SumOfTwo& sum)
      : residual_(sum.residual),
        gradient_(sum.gradient),
        first_index_(sum.first_index) {}
  HWY_INLINE Floats Load(int64_t i) const {
    const FloatTag d;
    return hn::Add(hn::LoadU(d, residual_ + i), hn::LoadU(d, gradient_ + i));
  }
  HWY_INLINE hn::Vec<UintTag> LoadIndices(int64_t i) const {
    return hn::Iota(UintTag(), first_index_ + static_cast<uint32_t>(i));
  }

 private:
  const float* const residual_;
  const float* const gradient_;
  const uint32_t first_index_;
};

// Writes those of u whose magnitude is above `threshold`, and returns how many
// they are.
HWY_INLINE int64_t PutAbove(Floats u, hn::Vec<UintTag> indices,
                            Floats threshold, const ListEnd& end) {
  const PackedLanes lanes(hn::Abs(u) > threshold);
  // Not CompressStore, which is slow to memory on some machines.
  hn::StoreU(lanes.Pack(FloatTag(), u), FloatTag(), end.values);
  hn::StoreU(lanes.Pack(UintTag(), indices), UintTag(), end.indices);
  return lanes.count();
}

// The same for one element.
HWY_INLINE int64_t PutOneAbove(float u, uint32_t index, float threshold,
                               const ListEnd& end) {
  if (!(std::fabs(u) > threshold)) return 0;
  *end.values = u;
  *end.indices = index;
  return 1;
}

// The groups of a tile that hold something to be listed. First noted, then
// listed: which groups they are is hard to predict, so a branch for each would
// cost more than all the rest.
class NotedGroups {
 public:
  explicit HWY_INLINE NotedGroups(float threshold)
      : threshold_(hn::Set(FloatTag(), threshold)) {}

  // `begin`: the group's first position; `max`: lane-wise maximum magnitude.
  HWY_INLINE void Note(int64_t begin, Floats max) {
    begins_[size_] = begin;
    size_ += hn::AllFalse(FloatTag(), max > threshold_) ? 0 : 1;
  }

  // Appends what is above the threshold, and forgets the groups.
  template <class Loader>
  HWY_INLINE void List(const Loader& loader, ChunkList* list) {
    if (size_ == 0) return;
    list->Reserve(list->size, size_ * kSumLanes);
    int64_t listed = list->size;
    for (int g = 0; g < size_; ++g) {
#pragma GCC unroll 16
      for (int v = 0; v < kFloatVectors; ++v) {
        const int64_t i = begins_[g] + v * kFloatLanes;
        listed += PutAbove(loader.Load(i), loader.LoadIndices(i), threshold_,
                           End(list, listed));
      }
    }
    list->size = listed;
    size_ = 0;
  }

 private:
  const Floats threshold_;
  int size_ = 0;
  int64_t begins_[kTile / kSumLanes + 1];
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace ps
HWY_AFTER_NAMESPACE();

#endif  // TENSOR_CPU_CPU_PACKED_LANES_INL_H_
