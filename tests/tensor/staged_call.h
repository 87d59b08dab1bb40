// The arguments of one call, on a device.
#ifndef TESTS_TENSOR_STAGED_CALL_H_
#define TESTS_TENSOR_STAGED_CALL_H_

#include <cstdint>
#include <deque>

#include "absl/status/status.h"
#include "tensor/backend.h"

namespace ps {

class StagedCall {
 public:
  // `device` outlives the object.
  explicit StagedCall(Backend* device) : device_(device) {}

  // Copies `n` elements at `host` to the device; null stays null. An argument
  // that was already passed to In or InOut gets the same memory again.
  const float* In(const float* host, int64_t n) {
    return Find(host, n, /*offset=*/0)->data();
  }
  // The same, at an address that is a multiple of 4 bytes but not of 8.
  const float* InUnaligned(const float* host, int64_t n) {
    return Find(host, n, /*offset=*/1)->data();
  }
  // The same for an argument that the call may write.
  float* InOut(float* host, int64_t n) { return Written(host, n, 0); }
  float* InOutUnaligned(float* host, int64_t n) { return Written(host, n, 1); }

  // `status` is the call's result. If it and all copies are OK, copies the
  // InOut arguments back; otherwise returns the first error.
  absl::Status Finish(const absl::Status& status);

 private:
  struct Argument {
    const float* host = nullptr;
    float* written = nullptr;  // The host's memory, if InOut.
    Tensor device;

    float* data() { return device.data(); }
  };

  Argument* Find(const float* host, int64_t n, int64_t offset);
  float* Written(float* host, int64_t n, int64_t offset);

  Backend* const device_;  // Not owned.
  absl::Status status_;
  std::deque<Argument> arguments_;  // A deque keeps its elements in place.
};

}  // namespace ps

#endif  // TESTS_TENSOR_STAGED_CALL_H_
