// Work of a backend that can be repeated without issuing it again.
#ifndef TENSOR_RECORDING_H_
#define TENSOR_RECORDING_H_

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

}  // namespace ps

#endif  // TENSOR_RECORDING_H_
