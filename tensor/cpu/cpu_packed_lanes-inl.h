// Lists the elements above a threshold, one vector at a time.
//
// Compiled once for each target of Highway, hence the toggling include guard.
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

// The number of elements that are scanned before they are listed, so that they
// are still in the L1 cache.
constexpr int64_t kTile = 64 * kSumLanes;

// The positions of the set lanes of a mask, as the permutation that packs them.
class PackedLanes {
 public:
  explicit HWY_INLINE PackedLanes(hn::Mask<FloatTag> mask) : mask_(mask) {
    uint8_t bits[8] = {};
    hn::StoreMaskBits(FloatTag(), mask, bits);
    bits_ = bits[0] | bits[1] << 8;
  }

  HWY_INLINE int64_t count() const { return hwy::PopCount(bits_); }

  // Moves the set lanes of v to the front; the lanes after them are undefined.
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

// The end of a list that is written in whole vectors.
struct ListEnd {
  float* values;
  uint32_t* indices;
};

HWY_INLINE ListEnd End(ChunkList* list, int64_t size) {
  return {list->values.data() + size, list->indices.data() + size};
}

// The source of listed elements: Load and LoadIndices return the vector at
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

// Recomputes the sum: its inputs are in the L1 cache, and the output may not
// be.
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

// Writes the elements of u whose magnitude is above `threshold`, and returns
// their number.
HWY_INLINE int64_t PutAbove(Floats u, hn::Vec<UintTag> indices,
                            Floats threshold, const ListEnd& end) {
  const PackedLanes lanes(hn::Abs(u) > threshold);
  // CompressStore is not used, as it is slow to memory on some machines.
  hn::StoreU(lanes.Pack(FloatTag(), u), FloatTag(), end.values);
  hn::StoreU(lanes.Pack(UintTag(), indices), UintTag(), end.indices);
  return lanes.count();
}

// Does the same for one element.
HWY_INLINE int64_t PutOneAbove(float u, uint32_t index, float threshold,
                               const ListEnd& end) {
  if (!(std::fabs(u) > threshold)) return 0;
  *end.values = u;
  *end.indices = index;
  return 1;
}

// The groups of a tile that hold elements to list. Groups are noted first and
// listed later: which ones they are is hard to predict, so a branch for each
// would cost more than everything else.
class NotedGroups {
 public:
  explicit HWY_INLINE NotedGroups(float threshold)
      : threshold_(hn::Set(FloatTag(), threshold)) {}

  // Notes a group. `begin`: its first position; `max`: its lane-wise maximum
  // magnitude.
  HWY_INLINE void Note(int64_t begin, Floats max) {
    begins_[size_] = begin;
    size_ += hn::AllFalse(FloatTag(), max > threshold_) ? 0 : 1;
  }

  // Appends the elements above the threshold and clears the noted groups. If
  // kSums, adds what the elements exceed the threshold by to `sums`; those of
  // other groups would add 0, which changes no bit.
  template <bool kSums, class Loader>
  HWY_INLINE void List(const Loader& loader, ChunkList* list, LaneSums* sums) {
    if (size_ == 0) return;
    list->Reserve(list->size, size_ * kSumLanes);
    const auto double_threshold =
        hn::Set(DoubleTag(), double{hn::GetLane(threshold_)});
    int64_t listed = list->size;
    for (int g = 0; g < size_; ++g) {
#pragma GCC unroll 16
      for (int v = 0; v < kFloatVectors; ++v) {
        const int64_t i = begins_[g] + v * kFloatLanes;
        const auto u = loader.Load(i);
        if (kSums) {
          sums->Add(v, hn::Max(hn::Abs(u), threshold_), double_threshold);
        }
        listed +=
            PutAbove(u, loader.LoadIndices(i), threshold_, End(list, listed));
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
