// Builds a table for packing the set lanes of a mask together, for vectors of
// up to 8 lanes.
#ifndef TENSOR_CPU_PACKED_LANE_TABLE_H_
#define TENSOR_CPU_PACKED_LANE_TABLE_H_

#include <cstdint>

namespace ps {

// nibbles[mask] has the positions of the set bits of an 8-bit mask, four bits
// each, starting from the lowest.
struct PackedLaneTable {
  constexpr PackedLaneTable() : nibbles() {
    for (uint32_t mask = 0; mask < 256; ++mask) {
      int shift = 0;
      for (uint32_t lane = 0; lane < 8; ++lane) {
        if ((mask >> lane & 1) == 0) continue;
        nibbles[mask] |= lane << shift;
        shift += 4;
      }
    }
  }
  uint32_t nibbles[256];
};

inline constexpr PackedLaneTable kPackedLanes;

}  // namespace ps

#endif  // TENSOR_CPU_PACKED_LANE_TABLE_H_
