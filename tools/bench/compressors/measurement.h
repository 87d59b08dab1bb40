// Time to compress one long gradient on one core or device, with error
// feedback, against the memory traffic that no threshold compressor can avoid,
// and on the CPU against exact top-k by the standard library.
#ifndef TOOLS_BENCH_COMPRESSORS_MEASUREMENT_H_
#define TOOLS_BENCH_COMPRESSORS_MEASUREMENT_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compressors/compressor.h"
#include "proto/compressor_config.pb.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"
#include "tools/bench/compressors/compression_yardstick.h"

namespace ps {

struct CompressorBenchOptions {
  int64_t elements = 0;  // In the gradient; at least 1.
  // Calls before timing: an adaptive number of stages settles, and the residual
  // fills. At least 0.
  int64_t warm_up = 20;
  // Timed calls at 2^22 elements or more; shorter gradients get more of them.
  // At least 1.
  int64_t rounds = 9;
  // A rule that worker_optimizer may name, to time what delta mode adds; empty:
  // gradients are compressed.
  std::string worker_optimizer;
};

// Medians over the rounds; counts are sums over them.
struct CompressorTiming {
  double milliseconds = 0;
  // Times of CompressionYardstick, taken in turns with the compressor, so that
  // a busy machine slows all alike. Top-k is timed with every third call, and
  // is NaN on a device.
  double bound_milliseconds = 0;
  double topk_milliseconds = 0;
  // Delta mode: a step of the optimizer before the compression, and following
  // the answer after it (DeltaModeCost). NaN without it.
  double step_milliseconds = std::numeric_limits<double>::quiet_NaN();
  double follow_milliseconds = std::numeric_limits<double>::quiet_NaN();
  int64_t rounds = 0;
  int64_t sent = 0;
  int64_t payload_bytes = 0;
  // Entropy of the positions, as if each round had drawn its number of elements
  // independently, plus the bits of the values as they are coded. NaN if the
  // compressor writes a code of its own that does not separate positions and
  // values.
  double entropy_bits = 0;
  CompressionStats last;

  double AchievedRatio(int64_t elements) const;
  // Both are NaN if nothing was sent.
  double BitsPerSentElement() const;
  double EntropyBitsPerSentElement() const;
};

// Gradients are drawn from a Laplace distribution with a fixed seed. Needs
// about 32 bytes of memory per element; on a device some 24 there, and as much
// on the host. Not thread-safe.
class CompressorBench {
 public:
  // Runs on `backend`, which is not owned and outlives this. Errors:
  // kInvalidArgument, kResourceExhausted.
  static absl::StatusOr<std::unique_ptr<CompressorBench>> Create(
      const CompressorBenchOptions& options, Backend* backend);

  // Times one compressor. CheckCompression verifies a call before and after.
  // Errors: those of NewCompressor and Compress; kInternal if verification
  // fails.
  absl::StatusOr<CompressorTiming> Run(const CompressorConfig& config);

  // Bytes of memory traffic per element in the bound.
  double bound_bytes_per_element() const {
    return yardstick_->bytes_per_element();
  }

 private:
  struct Subject;

  CompressorBench(const CompressorBenchOptions& options, Backend* backend,
                  std::unique_ptr<CompressionYardstick> yardstick,
                  Tensor values)
      : options_(options),
        backend_(backend),
        yardstick_(std::move(yardstick)),
        values_(std::move(values)) {}

  Tensor NextGradient();
  absl::Status Verify(Subject* subject);

  const CompressorBenchOptions options_;
  Backend* const backend_;  // Not owned.
  const std::unique_ptr<CompressionYardstick> yardstick_;
  // Gradients are windows of one long vector, which give new values at no cost.
  const Tensor values_;
  int64_t next_window_ = 0;
};

}  // namespace ps

#endif  // TOOLS_BENCH_COMPRESSORS_MEASUREMENT_H_
