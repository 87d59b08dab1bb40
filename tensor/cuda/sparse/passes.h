// What kernels that pass over long vectors are made of. For .cu files.
//
// A warp takes a segment of a vector, or a list of some of its elements, and
// loads a tile of it at a time, with 16 bytes of each array in each of four
// loads, and waits for no other warp. A grid whose blocks are all resident adds
// up what its threads have found, and every block decides for itself, with the
// same result, what the next pass measures.
//
// Sums are in double. Their order depends on the number of blocks and on
// nothing else, so that a device of one kind gives the same bits each time.
#ifndef TENSOR_CUDA_SPARSE_PASSES_H_
#define TENSOR_CUDA_SPARSE_PASSES_H_

#include <cstdint>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "common/float_bits.h"
#include "common/host_device.h"
#include "tensor/cuda/sparse/sparse_work.h"

namespace ps {

constexpr unsigned kAllLanes = 0xffffffff;

// Elements of a tile that a lane holds: four times four neighbours.
constexpr int kItems = 16;
constexpr int kTile = kWarp * kItems;

constexpr uint32_t kMagnitudeMask = 0x7fffffff;
constexpr uint32_t kInfinity = 0x7f800000;

__device__ inline int Lane() { return static_cast<int>(threadIdx.x % kWarp); }
__device__ inline int WarpOfBlock() {
  return static_cast<int>(threadIdx.x / kWarp);
}
__device__ inline uint32_t Magnitude(float x) {
  return __float_as_uint(x) & kMagnitudeMask;
}
// The position in a tile of a lane's element i.
__device__ inline int PlaceOf(int i) {
  return i / 4 * (4 * kWarp) + Lane() * 4 + i % 4;
}

// Selects the magnitudes whose bits are in (low, low + width], where `low` may
// stand for -1, and the first num_equal that are equal to `low`.
struct Cut {
  uint32_t low = 0;
  uint32_t width = 0;
  uint32_t num_equal = 0;

  __device__ bool Above(float x) const {
    return Magnitude(x) - low - 1 < width;
  }
  // A bit for each of a lane's elements.
  __device__ uint32_t MaskOf(const float (&x)[kItems]) const {
    uint32_t mask = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      mask |= static_cast<uint32_t>(Above(x[i])) << i;
    }
    return mask;
  }
  __device__ uint32_t MaskAt(const float (&x)[kItems]) const {
    uint32_t mask = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      mask |= static_cast<uint32_t>(Magnitude(x[i]) == low) << i;
    }
    return mask;
  }
};

// The numbers with |x| > threshold: all but NaNs if the threshold is negative,
// and none if it is infinite or NaN.
PS_HOST_DEVICE inline Cut CutAbove(float threshold) {
  Cut cut;
  if (threshold < 0) {
    cut.low = 0xffffffff;
    cut.width = kInfinity + 1;
  } else if (threshold >= 0) {
    cut.low = FloatBits(threshold) & kMagnitudeMask;
    cut.width = kInfinity - cut.low;
  }
  return cut;
}

// Waits for all blocks of a cooperative launch; every thread calls it. *barrier
// is 0 before the first launch. The fences order all memory of the block, by
// the barriers on their other side.
__device__ inline void SyncGrid(unsigned* barrier) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    // The top bit changes when all blocks have arrived, and the others are 0.
    constexpr unsigned kTop = 0x80000000;
    const unsigned before =
        atomicAdd(barrier, blockIdx.x == 0 ? kTop - (gridDim.x - 1) : 1u);
    while (((before ^ *static_cast<volatile unsigned*>(barrier)) & kTop) == 0) {
    }
    __threadfence();
  }
  __syncthreads();
}

// The vector u of n elements; if `residual` is not null, the first pass sets u
// to residual + gradient.
struct PassVector {
  const float* residual = nullptr;
  const float* gradient = nullptr;
  float* u = nullptr;
  int64_t n = 0;

  __device__ bool aligned() const {
    return (reinterpret_cast<uintptr_t>(residual) |
            reinterpret_cast<uintptr_t>(gradient) |
            reinterpret_cast<uintptr_t>(u)) %
               sizeof(float4) ==
           0;
  }
};

// A tile of a segment or of its list, without its values.
struct Tile {
  int64_t segment = 0;
  int begin = 0;                      // Of the tile in the segment or list.
  int size = 0;                       // May be less than kTile, or more.
  const uint16_t* offsets = nullptr;  // Of the list; null: the segment itself.

  // A bit for each of the lane's elements that is in the tile.
  __device__ uint32_t Mask() const {
    if (size >= kTile) return (1u << kItems) - 1;
    uint32_t mask = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      mask |= static_cast<uint32_t>(PlaceOf(i) < size) << i;
    }
    return mask;
  }
  // Within the segment, and in the vector.
  __device__ int OffsetOf(int i) const {
    const int place = begin + PlaceOf(i);
    return offsets == nullptr ? place : offsets[place];
  }
  __device__ uint32_t IndexOf(int i) const {
    return static_cast<uint32_t>(segment * kSegment + OffsetOf(i));
  }
};

// Loads a lane's elements of a tile of `size` elements; beyond them, 0.
__device__ inline void LoadTile(const float* from, int size, bool aligned,
                                float (&x)[kItems]) {
  if (size >= kTile && aligned) {
#pragma unroll
    for (int j = 0; j < kItems / 4; ++j) {
      const float4 four =
          reinterpret_cast<const float4*>(from)[j * kWarp + Lane()];
      x[4 * j] = four.x;
      x[4 * j + 1] = four.y;
      x[4 * j + 2] = four.z;
      x[4 * j + 3] = four.w;
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i) x[i] = 0;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if (PlaceOf(i) < size) x[i] = from[PlaceOf(i)];
  }
}

__device__ inline void StoreTile(const float (&x)[kItems], int size,
                                 bool aligned, float* to) {
  if (size >= kTile && aligned) {
#pragma unroll
    for (int j = 0; j < kItems / 4; ++j) {
      reinterpret_cast<float4*>(to)[j * kWarp + Lane()] =
          make_float4(x[4 * j], x[4 * j + 1], x[4 * j + 2], x[4 * j + 3]);
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if (PlaceOf(i) < size) to[PlaceOf(i)] = x[i];
  }
}

// Calls body(x, tile) for each tile of a segment of the vector, or of its list
// if `lists` is not null and has one. Every lane of the warp calls it.
template <class Body>
__device__ void ForTiles(const PassVector& vector, const KeptLists* lists,
                         int64_t segment, const Body& body) {
  Tile tile;
  tile.segment = segment;
  const int64_t first = segment * kSegment;
  const int64_t left = vector.n - first;
  int size = static_cast<int>(left < kSegment ? left : kSegment);
  const float* from = vector.u + first;
  bool aligned = vector.aligned();
  bool forms = vector.residual != nullptr;
  if (lists != nullptr) {
    const uint32_t listed = lists->sizes[segment];
    if (listed <= kListCapacity) {
      size = static_cast<int>(listed);
      from = lists->values + segment * kListCapacity;
      tile.offsets = lists->offsets + segment * kListCapacity;
      aligned = true;
      forms = false;
    }
  }
  for (; tile.begin < size; tile.begin += kTile) {
    tile.size = size - tile.begin;
    float x[kItems];
    if (forms) {
      // All loads are under way before one is waited for.
      float g[kItems];
      LoadTile(vector.residual + first + tile.begin, tile.size, aligned, x);
      LoadTile(vector.gradient + first + tile.begin, tile.size, aligned, g);
#pragma unroll
      for (int i = 0; i < kItems; ++i) x[i] += g[i];
      StoreTile(x, tile.size, aligned, vector.u + first + tile.begin);
    } else {
      LoadTile(from + tile.begin, tile.size, aligned, x);
    }
    body(x, tile);
  }
}

// Calls body(segment) for the segments of this warp: a block has neighbouring
// segments, its warps take turns.
struct BlockSegments {
  int64_t begin;
  int64_t end;

  __device__ explicit BlockSegments(int64_t n) {
    const int64_t each = (NumSegments(n) + gridDim.x - 1) / gridDim.x;
    begin = each * blockIdx.x;
    end = begin + each < NumSegments(n) ? begin + each : NumSegments(n);
  }
  template <class Body>
  __device__ void ForWarp(const Body& body) const {
    for (int64_t s = begin + WarpOfBlock(); s < end; s += kPassWarps) body(s);
  }
};

// Calls put(i, rank) for a lane's elements i whose bit of `mask` is set; ranks
// count those of all lanes from 0, by place in the tile. Returns how many there
// are. Every lane of the warp calls it.
template <class Put>
__device__ uint32_t PackTile(uint32_t mask, const Put& put) {
  if (!__any_sync(kAllLanes, mask != 0)) return 0;
  // The counts of the four groups of neighbours, a byte for each.
  uint32_t counts = 0;
#pragma unroll
  for (int j = 0; j < kItems / 4; ++j) {
    counts |= __popc(mask >> 4 * j & 0xf) << 8 * j;
  }
  uint32_t up_to = counts;
#pragma unroll
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const uint32_t other = __shfl_up_sync(kAllLanes, up_to, distance);
    if (Lane() >= distance) up_to += other;
  }
  const uint32_t totals = __shfl_sync(kAllLanes, up_to, kWarp - 1);
  const uint32_t before = up_to - counts;
  uint32_t base = 0;
#pragma unroll
  for (int j = 0; j < kItems / 4; ++j) {
    uint32_t rank = base + (before >> 8 * j & 0xff);
#pragma unroll
    for (int i = 4 * j; i < 4 * j + 4; ++i) {
      if ((mask >> i & 1) != 0) put(i, rank++);
    }
    base += totals >> 8 * j & 0xff;
  }
  return base;
}

// What a pass is to find.
struct PassGoal {
  // What is above it is counted, and if it has a num_equal what is at it: in
  // total and by segment.
  Cut cut;
  bool extrema = false;  // Also what is 0 or not finite, and the extrema.
  // Also sums |x| - location, and its square, of what is above the cut, which
  // is at the location.
  bool exceedances = false;
  float location = 0;
  bool values = false;  // Sums all x and their squares instead.
  bool logs = false;    // Sums ln |x| over the non-zero elements.
  bool keep = false;    // Lists what is above `kept`.
  Cut kept;
};

// One thread's part of a pass.
struct PassStats {
  double sum = 0;
  double sum_squares = 0;
  double sum_logs = 0;
  unsigned num_nonzero = 0;
  unsigned num_non_finite = 0;
  uint32_t max_bits = 0;
  uint32_t min_bits_less_one = 0xffffffff;

  __device__ void See(const float (&x)[kItems], const PassGoal& goal) {
    if (goal.extrema) {
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        const uint32_t bits = Magnitude(x[i]);
        num_nonzero += bits != 0;
        num_non_finite += bits >= kInfinity;
        max_bits = max(max_bits, bits);
        min_bits_less_one = min(min_bits_less_one, bits - 1);
      }
    }
    if (goal.exceedances || goal.values) {
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        if (goal.exceedances && !goal.cut.Above(x[i])) continue;
        const double y = goal.values ? static_cast<double>(x[i])
                                     : static_cast<double>(fabsf(x[i])) -
                                           static_cast<double>(goal.location);
        sum += y;
        sum_squares += y * y;
      }
    }
    if (goal.logs) {
#pragma unroll
      for (int j = 0; j < kItems; j += 4) {
        // The product of four magnitudes is in the range of doubles.
        double product = 1;
#pragma unroll
        for (int i = j; i < j + 4; ++i) {
          if (x[i] != 0) product *= static_cast<double>(fabsf(x[i]));
        }
        sum_logs += log(product);
      }
    }
  }

  __device__ PassTotals Totals(uint64_t counts) const {
    PassTotals totals;
    totals.sum = sum;
    totals.sum_squares = sum_squares;
    totals.sum_logs = sum_logs;
    totals.counts = counts;
    totals.num_nonzero = num_nonzero;
    totals.num_non_finite = num_non_finite;
    totals.max_bits = max_bits;
    totals.min_bits_less_one = min_bits_less_one;
    return totals;
  }
};

// Shared memory for a type with member initialisers, which do not run.
#define PS_SHARED_MEMORY(Type, name)                               \
  __shared__ alignas(16) unsigned char name##_bytes[sizeof(Type)]; \
  Type* const name = reinterpret_cast<Type*>(name##_bytes)

// Shared memory of a block.
struct PassShared {
  union {
    cub::BlockReduce<PassTotals, kPassThreads>::TempStorage totals;
    cub::BlockReduce<uint64_t, kPassThreads>::TempStorage counts;
    cub::BlockScan<uint64_t, kPassThreads>::TempStorage scan;
  };
  uint64_t bases[kPassThreads];
  // Of the latest AddUp: the grid's totals, and the counts of the blocks before
  // this one.
  PassTotals total;
  uint64_t before;
};

// A grid of resident blocks, as one thread sees it: all that its calls share.
struct Grid {
  GridScratch* scratch = nullptr;
  PassShared* shared = nullptr;
  int turn = 0;  // Calls of AddUp so far.

  __device__ Grid(GridScratch* scratch, PassShared* shared)
      : scratch(scratch), shared(shared) {}

  // Waits for all threads.
  __device__ void Sync() const { SyncGrid(&scratch->barrier); }
  // The calling thread's number, and how many there are.
  __device__ int64_t thread() const {
    return int64_t{blockIdx.x} * kPassThreads + threadIdx.x;
  }
  __device__ int64_t num_threads() const {
    return int64_t{gridDim.x} * kPassThreads;
  }
};

// The sum over a warp, in all lanes.
__device__ inline uint64_t WarpSum(uint64_t x) {
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    x += __shfl_xor_sync(kAllLanes, x, distance);
  }
  return x;
}

// Adds up over the grid what its threads have found, and waits for all of them.
// Sets grid.shared->total, the same in all blocks, and `before` there. Every
// thread calls it.
__device__ inline void AddUp(const PassTotals& mine, Grid& grid) {
  PassShared* const shared = grid.shared;
  using Totals = cub::BlockReduce<PassTotals, kPassThreads>;
  using Counts = cub::BlockReduce<uint64_t, kPassThreads>;
  // A block may end the next pass while others still read this one's sums.
  PassTotals* const blocks = grid.scratch->blocks[grid.turn++ % 2];
  const PassTotals of_block = Totals(shared->totals).Reduce(mine, AddTotals());
  if (threadIdx.x == 0) blocks[blockIdx.x] = of_block;
  grid.Sync();
  PassTotals some;
  uint64_t before = 0;
  for (unsigned b = threadIdx.x; b < gridDim.x; b += kPassThreads) {
    const PassTotals other = blocks[b];
    some = AddTotals()(some, other);
    if (b < blockIdx.x) before += other.counts;
  }
  const PassTotals total = Totals(shared->totals).Reduce(some, AddTotals());
  __syncthreads();
  before = Counts(shared->counts).Sum(before);
  if (threadIdx.x == 0) {
    shared->total = total;
    shared->before = before;
  }
  __syncthreads();
}

// A pass by a grid, whose results AddUp leaves. `lists`: null, or they hold all
// that the goal counts and sums. If goal.keep, segments that are not read by
// their lists get new ones in `kept`. Every thread calls it.
__device__ inline void Measure(const PassVector& vector, const KeptLists* lists,
                               const PassGoal& goal, const KeptLists& kept,
                               Grid& grid) {
  PassStats stats;
  uint64_t counts = 0;
  BlockSegments(vector.n).ForWarp([&](int64_t segment) {
    uint32_t above = 0;
    uint32_t equal = 0;
    uint32_t num_kept = 0;
    bool keeps = goal.keep;
    ForTiles(vector, lists, segment,
             [&](const float(&x)[kItems], const Tile& tile) {
               stats.See(x, goal);
               above += __popc(goal.cut.MaskOf(x) & tile.Mask());
               if (goal.cut.num_equal > 0) {
                 equal += __popc(goal.cut.MaskAt(x) & tile.Mask());
               }
               keeps = goal.keep && tile.offsets == nullptr;
               if (!keeps) return;
               const uint32_t mask = goal.kept.MaskOf(x);
               num_kept += PackTile(mask, [&](int i, uint32_t rank) {
                 rank += num_kept;
                 if (rank >= kListCapacity) return;
                 const int64_t at = segment * kListCapacity + rank;
                 kept.offsets[at] = static_cast<uint16_t>(tile.OffsetOf(i));
                 kept.values[at] = x[i];
               });
             });
    const uint64_t of_segment = WarpSum(uint64_t{above} << kAboveShift | equal);
    // Lanes have read the size that is replaced.
    __syncwarp();
    if (Lane() != 0) return;
    counts += of_segment;
    grid.scratch->segment_counts[segment] = of_segment;
    if (keeps) kept.sizes[segment] = num_kept;
  });
  AddUp(stats.Totals(counts), grid);
}

// Calls body(segment, counts, base) for this warp's segments of n elements: its
// counts, and those of all segments before it, by grid.scratch->segment_counts
// and the AddUp of them. Every thread calls it.
template <class Body>
__device__ void ForCounted(int64_t n, Grid& grid, const Body& body) {
  PassShared* const shared = grid.shared;
  const uint64_t* const all_counts = grid.scratch->segment_counts;
  const BlockSegments mine(n);
  uint64_t base = shared->before;
  for (int64_t begin = mine.begin; begin < mine.end; begin += kPassThreads) {
    const int64_t segment = begin + threadIdx.x;
    const uint64_t counts = segment < mine.end ? all_counts[segment] : 0;
    uint64_t before = 0;
    uint64_t sum = 0;
    cub::BlockScan<uint64_t, kPassThreads>(shared->scan)
        .ExclusiveSum(counts, before, sum);
    shared->bases[threadIdx.x] = base + before;
    base += sum;
    __syncthreads();
    for (int64_t s = begin + WarpOfBlock();
         s < mine.end && s < begin + kPassThreads; s += kPassWarps) {
      body(s, all_counts[s], shared->bases[s - begin]);
    }
    __syncthreads();
  }
}

// Calls put(rank, index, value) for what the cut selects, in ascending order of
// index, after Measure with this cut. `lists`: null, or they hold all that is
// selected. Every thread calls it.
template <class Put>
__device__ void Select(const PassVector& vector, const KeptLists* lists,
                       const Cut& cut, Grid& grid, const Put& put) {
  const auto select = [&](int64_t segment, uint64_t counts, uint64_t base) {
    uint32_t equal = static_cast<uint32_t>(base);  // Before the tile.
    const bool takes_equal =
        equal < cut.num_equal && static_cast<uint32_t>(counts) != 0;
    if (counts >> kAboveShift == 0 && !takes_equal) return;
    int64_t rank =
        static_cast<int64_t>(base >> kAboveShift) + min(equal, cut.num_equal);
    ForTiles(vector, lists, segment,
             [&](const float(&x)[kItems], const Tile& tile) {
               uint32_t mask = cut.MaskOf(x) & tile.Mask();
               if (takes_equal) {
                 const uint32_t at = cut.MaskAt(x) & tile.Mask();
                 equal += PackTile(at, [&](int i, uint32_t before) {
                   if (equal + before < cut.num_equal) mask |= 1u << i;
                 });
               }
               rank += PackTile(mask, [&](int i, uint32_t before) {
                 put(rank + before, tile.IndexOf(i), x[i]);
               });
             });
  };
  ForCounted(vector.n, grid, select);
}

// Copies to pinned memory what has been put on the device. Every thread of the
// grid calls it.
__device__ inline void CopyToHost(const SelectionOut& out, int64_t count,
                                  const Grid& grid) {
  grid.Sync();
  const int64_t size = min(count, out.host_capacity);
  for (int64_t i = grid.thread(); i < size; i += grid.num_threads()) {
    out.host_indices[i] = out.indices[i];
    out.host_values[i] = out.values[i];
  }
}

// Leaves `count` elements, which the cut selects, if there is room: after
// Measure with this cut, as Select.
__device__ inline void SelectTo(const SelectionOut& out, int64_t count,
                                const PassVector& vector,
                                const KeptLists* lists, const Cut& cut,
                                Grid& grid) {
  if (count == 0 || count > out.capacity) return;
  Select(vector, lists, cut, grid,
         [&](int64_t rank, uint32_t index, float value) {
           out.indices[rank] = index;
           out.values[rank] = value;
         });
  CopyToHost(out, count, grid);
}

// By all threads of a block: clears shared memory, also what is between
// members, and copies it to pinned memory.
template <class T>
__device__ void ClearByBlock(T* shared) {
  static_assert(sizeof(T) % sizeof(uint32_t) == 0, "");
  for (unsigned i = threadIdx.x; i < sizeof(T) / sizeof(uint32_t);
       i += kPassThreads) {
    reinterpret_cast<uint32_t*>(shared)[i] = 0;
  }
  __syncthreads();
}
template <class T>
__device__ void CopyByBlock(const T& shared, T* pinned) {
  static_assert(sizeof(T) % sizeof(uint32_t) == 0, "");
  for (unsigned i = threadIdx.x; i < sizeof(T) / sizeof(uint32_t);
       i += kPassThreads) {
    reinterpret_cast<uint32_t*>(pinned)[i] =
        reinterpret_cast<const uint32_t*>(&shared)[i];
  }
}

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_PASSES_H_
