// Work of a backend that can be done again without giving it again.
#ifndef TENSOR_RECORDING_H_
#define TENSOR_RECORDING_H_

#include "absl/status/status.h"

namespace ps {

// Made by Backend::Record, and used by the same thread; ends before its
// backend.
class Recording {
 public:
  virtual ~Recording() = default;

  // Gives the backend all of it once more, with the addresses and numbers that
  // it was recorded with; what lies at the addresses may have changed.
  virtual absl::Status Replay() = 0;
};

}  // namespace ps

#endif  // TENSOR_RECORDING_H_
