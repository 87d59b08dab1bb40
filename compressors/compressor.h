// Turns a gradient into what is sent of it, and keeps the rest.
//
// The law that every implementation obeys, element by element:
//     residual before + gradient = decoded payload + residual after.
#ifndef COMPRESSORS_COMPRESSOR_H_
#define COMPRESSORS_COMPRESSOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/registry.h"
#include "compressors/payload_buffer.h"
#include "proto/config.pb.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"

namespace ps {

struct CompressorOptions {
  CompressorConfig config;
  // Elements of every gradient that will come; below 2^32.
  int64_t dense_size = 0;
  // Where the payloads are cut: part p covers [part_ends[p - 1], part_ends[p])
  // and its indices count from its own begin. Ascending, the last is
  // dense_size. Empty: one part.
  std::vector<int64_t> part_ends;
  // Counter-based draws depend on these and on the iteration, on nothing else.
  uint64_t seed = 0;
  int worker_rank = 0;
  int bucket = 0;
  Backend* backend = nullptr;  // Not owned; outlives the compressor.
};

// What one call did.
struct CompressionStats {
  // The gradient or the sum held a NaN or an infinity: nothing was selected,
  // and neither residual nor state changed.
  bool non_finite = false;
  // Magnitudes above this were sent; for exact top-k the smallest one sent; 0
  // where all are sent.
  double threshold = 0;
  // Elements above the estimated threshold, before fall-backs and caps.
  int64_t raw_count = 0;
  int64_t count = 0;         // Elements sent.
  int64_t target_count = 0;  // max(1, floor(ratio x dense_size)); 0 if empty.
  int stages = 0;
  // Why the choice is not what the estimate alone would have made of it; empty
  // if it is. See each compressor.
  std::string fallback;
};

struct EncodedGradient {
  // One per part, in order. Each describes itself (compressors/payload.h).
  std::vector<PayloadBuffer> parts;
  CompressionStats stats;
};

// Not thread-safe. One object serves one bucket of one worker.
class Compressor {
 public:
  virtual ~Compressor() = default;

  // u = *residual + gradient; returns what to send and leaves the rest in
  // *residual. Both have dense_size elements; the handle *residual may come
  // back with other storage, so read it, and not a pointer taken before.
  // Without error feedback pass a zeroed residual and drop it.
  // A non-finite u is no error: see CompressionStats. Errors: kInvalidArgument
  // for a wrong size, and what the backend reports.
  virtual absl::StatusOr<EncodedGradient> Compress(const Tensor& gradient,
                                                   Tensor* residual) = 0;

  // State beyond the residual, for checkpoints; opaque bytes. Load refuses what
  // Save of the same kind of compressor did not write (kDataLoss).
  virtual std::string SaveState() const = 0;
  virtual absl::Status LoadState(absl::string_view state) = 0;
};

using CompressorFactory =
    absl::StatusOr<std::unique_ptr<Compressor>> (*)(const CompressorOptions&);

// Every compressor that is linked in.
Registry<CompressorFactory>& CompressorRegistry();

// The one that options.config names. Errors: kInvalidArgument for an unknown
// name or code, a ratio or a size out of range, or part_ends that do not ascend
// to dense_size; kResourceExhausted.
absl::StatusOr<std::unique_ptr<Compressor>> NewCompressor(
    const CompressorOptions& options);

#define REGISTER_COMPRESSOR(name, factory)                                \
  [[maybe_unused]] static const bool ps_compressor_registered_##factory = \
      ::ps::CompressorRegistry().Register(name, factory)

}  // namespace ps

#endif  // COMPRESSORS_COMPRESSOR_H_
