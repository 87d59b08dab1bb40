// Work of a backend that can be repeated without issuing it again.
#ifndef TENSOR_RECORDING_H_
#define TENSOR_RECORDING_H_

#include <cstdint>

#include "absl/status/status.h"

namespace ps {

// Made by Backend::Record, and used by the same thread; must be destroyed
// before its backend.
class Recording {
 public:
  virtual ~Recording() = default;

  // Gives all of the work to the backend once more, with the recorded addresses
  // and numbers; the memory at the addresses may have changed.
  virtual absl::Status Replay() = 0;
};

// How often work was recorded, and how often a backend refused to record it.
struct RecordingCounts {
  int64_t recorded = 0;
  int64_t failed = 0;
};

}  // namespace ps

#endif  // TENSOR_RECORDING_H_
