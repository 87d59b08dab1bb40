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

  // Copies of `n` elements at `host` on the device; null stays null. What was
  // In or InOut before is the same memory again.
  const float* In(const float* host, int64_t n) {
    return Find(host, n, /*offset=*/0)->data();
  }
  // At an address that is a multiple of 4 bytes alone.
  const float* InUnaligned(const float* host, int64_t n) {
    return Find(host, n, /*offset=*/1)->data();
  }
  // The same of what the call may write.
  float* InOut(float* host, int64_t n) { return Written(host, n, 0); }
  float* InOutUnaligned(float* host, int64_t n) { return Written(host, n, 1); }

  // `status` is the call's. If it and all copies are OK, copies back what is
  // InOut; else the first error.
  absl::Status Finish(const absl::Status& status);

 private:
  struct Argument {
    const float* host = nullptr;
    float* written = nullptr;  // host, if it is InOut.
    Tensor device;

    float* data() { return device.data(); }
  };

  Argument* Find(const float* host, int64_t n, int64_t offset);
  float* Written(float* host, int64_t n, int64_t offset);

  Backend* const device_;  // Not owned.
  absl::Status status_;
  std::deque<Argument> arguments_;  // Keeps its elements where they are.
};

}  // namespace ps

#endif  // TESTS_TENSOR_STAGED_CALL_H_
