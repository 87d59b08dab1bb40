// The interface of uploads of inputs to a device while it computes.
#ifndef TENSOR_INPUT_UPLOAD_H_
#define TENSOR_INPUT_UPLOAD_H_

#include <cstdint>

#include "absl/status/status.h"

namespace ps {

// An upload. Part of the backend's compute side, but Send may also be called
// during an overlap. Must be destroyed before its backend.
class InputUpload {
 public:
  virtual ~InputUpload() = default;

  // Allocates memory for `n` elements, when layers are planned. Errors:
  // kResourceExhausted.
  virtual absl::Status Reserve(int64_t n) = 0;
  virtual int64_t capacity() const = 0;

  // Takes n elements, at most capacity(), from `host`, which may change when
  // the call returns. They are uploaded beside the backend's queued work, and
  // replace elements that were not received.
  virtual absl::Status Send(const float* host, int64_t n) = 0;

  // Makes later work of the compute side find the elements of the latest Send
  // at `to`, in the backend's memory. Does not wait. Call it once for each
  // Send.
  virtual absl::Status Receive(float* to) = 0;
};

}  // namespace ps

#endif  // TENSOR_INPUT_UPLOAD_H_
