// The simplest work of a CUDA device, a copy, as a bound for everything else.
#ifndef TOOLS_BENCH_COMPRESSORS_DEVICE_COPY_H_
#define TOOLS_BENCH_COMPRESSORS_DEVICE_COPY_H_

#include "absl/status/status.h"
#include "tensor/on_device.h"
#include "tensor/tensor.h"

namespace ps {

// Made by NewOnDevice. Not thread-safe.
class DeviceCopier {
 public:
  virtual ~DeviceCopier() = default;

  // Copies `from.size()` floats within the device's memory `times` times: each
  // copy reads 4 bytes per element and writes 4. Waits. Errors: CUDA's.
  virtual absl::Status Copy(const Tensor& from, int times, Tensor* to) = 0;
};

}  // namespace ps

#endif  // TOOLS_BENCH_COMPRESSORS_DEVICE_COPY_H_
