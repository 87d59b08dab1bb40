// Binary search, on host and device.
#ifndef COMMON_PARTITION_POINT_H_
#define COMMON_PARTITION_POINT_H_

#include <cstdint>

#include "common/host_device.h"

namespace ps {

// Returns the first i in [begin, end) for which before(i) is false, or `end` if
// there is none. before(i) must be false for all later i, too.
template <class Before>
PS_HOST_DEVICE int64_t PartitionPoint(int64_t begin, int64_t end,
                                      const Before& before) {
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    if (before(middle)) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

}  // namespace ps

#endif  // COMMON_PARTITION_POINT_H_
