// The size of the messages in which gradients are pushed.
#ifndef COMMON_SLICE_ELEMENTS_H_
#define COMMON_SLICE_ELEMENTS_H_

#include <cstdint>

#include "proto/config.pb.h"

namespace ps {

// The default where nothing waits for a link, which shorter messages keep busy
// in both directions: each costs processor time.
constexpr int64_t kLongSliceElements = 1 << 20;

// cluster.max_slice_elements, or its default for what the job's workers push
// over a network.
inline int64_t MaxSliceElements(const JobConfig& job) {
  if (job.cluster().has_max_slice_elements()) {
    return job.cluster().max_slice_elements();
  }
  return job.compressor().name() == "none" ? 1 << 16 : kLongSliceElements;
}

}  // namespace ps

#endif  // COMMON_SLICE_ELEMENTS_H_
