// The times with which the time of a compressor is compared, on the device
// where it runs.
#ifndef TOOLS_BENCH_COMPRESSORS_COMPRESSION_YARDSTICK_H_
#define TOOLS_BENCH_COMPRESSORS_COMPRESSION_YARDSTICK_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"

namespace ps {

// Not thread-safe.
class CompressionYardstick {
 public:
  virtual ~CompressionYardstick() = default;

  // Bytes of memory traffic per element in the bound.
  virtual double bytes_per_element() const = 0;

  // Times that traffic now: the passes themselves, or a copy on a device.
  virtual absl::StatusOr<double> BoundMilliseconds(const Tensor& gradient) = 0;

  // Time of residual + gradient and of finding the k-th largest magnitude of
  // the sum with the standard library; both vectors stay unchanged. NaN on a
  // device, whose libraries are timed by benchmarks/torch_topk.py.
  virtual absl::StatusOr<double> TopKMilliseconds(const Tensor& gradient,
                                                  const Tensor& residual,
                                                  int64_t k) = 0;

  // Waits until the device has done all queued work.
  virtual absl::Status Await() = 0;
};

// On the CPU the bound is one pass residual += gradient and one over |x|, on
// one thread: 8 bytes read and 4 written, and 4 read again. On a device it is
// the traffic of one pass, 12 bytes, at the rate of a copy. `backend` is not
// owned and outlives this. Errors: kResourceExhausted.
absl::StatusOr<std::unique_ptr<CompressionYardstick>> NewCompressionYardstick(
    int64_t elements, Backend* backend);

}  // namespace ps

#endif  // TOOLS_BENCH_COMPRESSORS_COMPRESSION_YARDSTICK_H_
