// The plainest work of a CUDA device, as a bound for everything else.
#ifndef TOOLS_BENCH_COMPRESSORS_DEVICE_COPY_H_
#define TOOLS_BENCH_COMPRESSORS_DEVICE_COPY_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/tensor.h"

namespace ps {

// On a stream of its own: orders itself after nothing. Not thread-safe.
class DeviceCopier {
 public:
  virtual ~DeviceCopier() = default;

  // Queues a copy within the device's memory, of `from.size()` floats: reads 4
  // bytes an element and writes 4.
  virtual absl::Status Copy(const Tensor& from, Tensor* to) = 0;

  // Waits for what was queued.
  virtual absl::Status Await() = 0;
};

// On the calling thread's current device. Errors: CUDA's; kUnimplemented in a
// build without CUDA.
absl::StatusOr<std::unique_ptr<DeviceCopier>> NewDeviceCopier();

}  // namespace ps

#endif  // TOOLS_BENCH_COMPRESSORS_DEVICE_COPY_H_
