// What the time of a compressor is compared with, on the device where it runs.
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

  // Memory traffic of the bound.
  virtual double bytes_per_element() const = 0;

  // How long that traffic takes now: it is timed anew, or as a copy.
  virtual absl::StatusOr<double> BoundMilliseconds(const Tensor& gradient) = 0;

  // residual + gradient, and the k-th largest magnitude of that by the standard
  // library; both vectors stay as they are. NaN on a device, whose libraries
  // are timed by benchmarks/torch_topk.py.
  virtual absl::StatusOr<double> TopKMilliseconds(const Tensor& gradient,
                                                  const Tensor& residual,
                                                  int64_t k) = 0;

  // Until all that was asked of the device is done.
  virtual absl::Status Await() = 0;
};

// On the CPU the bound is one pass residual += gradient and one over |x|, on
// one thread: 8 bytes read and 4 written, and 4 read again. On a device it is
// what one pass has to move, 12 bytes, at the rate of a copy. `backend` is not
// owned and outlives this. Errors: kResourceExhausted.
absl::StatusOr<std::unique_ptr<CompressionYardstick>> NewCompressionYardstick(
    int64_t elements, Backend* backend);

}  // namespace ps

#endif  // TOOLS_BENCH_COMPRESSORS_COMPRESSION_YARDSTICK_H_
