// Time to compress one long gradient on one core, with error feedback, against
// the memory traffic that no threshold compressor can avoid, and against exact
// top-k by the standard library.
#ifndef BENCHMARKS_COMPRESSOR_BENCH_H_
#define BENCHMARKS_COMPRESSOR_BENCH_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compressors/compressor.h"
#include "proto/config.pb.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"

namespace ps {

struct CompressorBenchOptions {
  int64_t elements = 0;  // Of the gradient; at least 1.
  // Calls before timing: an adaptive number of stages settles, and the residual
  // fills. At least 0.
  int64_t warm_up = 20;
  // Timed calls at 2^22 elements or more; shorter gradients get more of them.
  // At least 1.
  int64_t rounds = 9;
};

// Medians over the rounds; counts are sums over them.
struct CompressorTiming {
  double milliseconds = 0;
  // One pass residual += gradient and one pass over |x|, in turns with the
  // compressor, so that a busy machine slows all alike.
  double bound_milliseconds = 0;
  // The same residual pass on the same vectors, and std::nth_element over the
  // magnitudes; in turns with every third call.
  double topk_milliseconds = 0;
  int64_t rounds = 0;
  int64_t sent = 0;
  int64_t payload_bytes = 0;
  // Of positions drawn independently, each round with its own count over the
  // elements, and of the values as they are coded. NaN where the compressor
  // writes a code of its own, in which positions and values are one.
  double entropy_bits = 0;
  CompressionStats last;

  double AchievedRatio(int64_t elements) const;
  // Both are NaN if nothing was sent.
  double BitsPerSentElement() const;
  double EntropyBitsPerSentElement() const;
};

// Bytes of the bound: 8 read and 4 written, and 4 read again.
constexpr double kBoundBytesPerElement = 16;

// Gradients are Laplace, drawn from a fixed seed. Needs about 32 bytes of
// memory an element. Not thread-safe.
class CompressorBench {
 public:
  // Errors: kInvalidArgument, kResourceExhausted.
  static absl::StatusOr<std::unique_ptr<CompressorBench>> Create(
      const CompressorBenchOptions& options);

  // Times one compressor. Before and after, CheckCompression verifies a call.
  // Errors: those of NewCompressor and Compress; kInternal if verification
  // fails.
  absl::StatusOr<CompressorTiming> Run(const CompressorConfig& config);

 private:
  struct Subject;

  CompressorBench(const CompressorBenchOptions& options,
                  std::unique_ptr<Backend> backend, Tensor values, Tensor plain,
                  Tensor scratch);

  Tensor NextGradient();
  absl::Status Verify(Subject* subject);
  double TimeTopK(const Tensor& gradient, const Tensor& residual, int64_t k);

  const CompressorBenchOptions options_;
  const std::unique_ptr<Backend> backend_;
  // Gradients are windows of one long vector: fresh numbers at no cost.
  const Tensor values_;
  int64_t next_window_ = 0;
  Tensor plain_;     // The residual of bound and yardstick.
  Tensor scratch_;   // [elements], of verification and yardstick.
  double sink_ = 0;  // So that the read pass is not left out.
};

}  // namespace ps

#endif  // BENCHMARKS_COMPRESSOR_BENCH_H_
