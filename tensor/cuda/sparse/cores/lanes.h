// The elements of a list by lane, for sums that add each lane in order.
#ifndef TENSOR_CUDA_SPARSE_CORES_LANES_H_
#define TENSOR_CUDA_SPARSE_CORES_LANES_H_

#include <cstdint>

#include "tensor/cuda/sparse/cores/elements.h"
#include "tensor/cuda/sparse/cores/host_device.h"
#include "tensor/cuda/sparse/cores/tile.h"

namespace ps {

struct LanesShared {
  // Lane l has sizes[l] elements of a tile, from order[begins[l]] on.
  uint16_t order[kSparseTile];
  uint16_t begins[kSparseLanes];
  uint16_t sizes[kSparseLanes];
  // By lane and thread: first counts, then places in `order`.
  uint16_t places[kSparseLanes][kSparseThreads];
  uint16_t groups[kSparseLanes][kNumGroups];
};
static_assert(kSparseLanes * kNumGroups == kSparseThreads,
              "a thread for each group of each lane");

// Sets *lanes for a listed tile that has been loaded: a counting sort, in which
// every thread sorts a run of the elements.
template <class Block>
PS_HOST_DEVICE void SortByLane(Block& block, const Tile& tile,
                               const TileShared& shared, LanesShared* lanes) {
  const int run = (tile.size + kSparseThreads - 1) / kSparseThreads;
  // Calls body(i, place) for each of one thread's elements.
  const auto for_run = [&](int thread, const auto& body) {
    const int end = (thread + 1) * run;
    for (int i = thread * run; i < end && i < tile.size; ++i) {
      const int lane = shared.offsets[PaddedIndex(i)] % kSparseLanes;
      body(i, &lanes->places[lane][thread]);
    }
  };
  block.Phase([&](int thread) {
    for (int l = 0; l < kSparseLanes; ++l) lanes->places[l][thread] = 0;
    for_run(thread, [](int, uint16_t* count) { ++*count; });
  });
  block.Phase([&](int thread) {
    const int lane = thread / kNumGroups;
    const int group = thread % kNumGroups;
    int count = 0;
    for (int t = 0; t < kGroupThreads; ++t) {
      count += lanes->places[lane][group * kGroupThreads + t];
    }
    lanes->groups[lane][group] = static_cast<uint16_t>(count);
  });
  block.Phase([&](int thread) {
    if (thread >= kSparseLanes) return;
    int count = 0;
    for (int g = 0; g < kNumGroups; ++g) count += lanes->groups[thread][g];
    lanes->sizes[thread] = static_cast<uint16_t>(count);
  });
  block.Phase([&](int thread) {
    const int lane = thread / kNumGroups;
    const int group = thread % kNumGroups;
    int place = 0;
    for (int l = 0; l < lane; ++l) place += lanes->sizes[l];
    if (group == 0) lanes->begins[lane] = static_cast<uint16_t>(place);
    for (int g = 0; g < group; ++g) place += lanes->groups[lane][g];
    for (int t = 0; t < kGroupThreads; ++t) {
      uint16_t& each = lanes->places[lane][group * kGroupThreads + t];
      const int count = each;
      each = static_cast<uint16_t>(place);
      place += count;
    }
  });
  block.Phase([&](int thread) {
    for_run(thread, [&](int i, uint16_t* place) {
      lanes->order[(*place)++] = static_cast<uint16_t>(i);
    });
  });
}

}  // namespace ps

#endif  // TENSOR_CUDA_SPARSE_CORES_LANES_H_
