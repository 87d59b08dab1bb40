// The simplest work of a CUDA device, a copy, as a bound for everything else.
#ifndef TOOLS_BENCH_COMPRESSORS_DEVICE_COPY_H_
#define TOOLS_BENCH_COMPRESSORS_DEVICE_COPY_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/tensor.h"

namespace ps {

// Copies on a stream of its own, which does not wait for other streams. Not
// thread-safe.
class DeviceCopier {
 public:
  virtual ~DeviceCopier() = default;

  // Queues a copy of `from.size()` floats within the device's memory: reads 4
  // bytes per element and writes 4.
  virtual absl::Status Copy(const Tensor& from, Tensor* to) = 0;

  // Waits for the queued copies.
  virtual absl::Status Await() = 0;
};

// Copies on the calling thread's current device. Errors: CUDA's; kUnimplemented
// in a build without CUDA.
absl::StatusOr<std::unique_ptr<DeviceCopier>> NewDeviceCopier();

}  // namespace ps

#endif  // TOOLS_BENCH_COMPRESSORS_DEVICE_COPY_H_
