// The interface of a backend's recorded work, which can be replayed.
#ifndef TENSOR_RECORDING_H_
#define TENSOR_RECORDING_H_

#include <cstdint>

#include "absl/status/status.h"

namespace ps {

// Recorded work. Created by Backend::Record, and used by the same thread; must
// be destroyed before its backend.
class Recording {
 public:
  virtual ~Recording() = default;

  // Gives the work to the backend once more, with the recorded addresses and
  // numbers; the memory at the addresses may have changed.
  virtual absl::Status Replay() = 0;
};

// The number of recordings, and of refusals by the backend.
struct RecordingCounts {
  int64_t recorded = 0;
  int64_t failed = 0;
};

}  // namespace ps

#endif  // TENSOR_RECORDING_H_
