// Turns a gradient into what is sent of it, and keeps the rest.
//
// The law that every implementation obeys, element by element:
//     residual before + gradient = decoded payload + residual after.
// Where a config clips the gradient or gives it momentum, it is what becomes of
// the gradient there that obeys.
#ifndef COMPRESSORS_COMPRESSOR_H_
#define COMPRESSORS_COMPRESSOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/config_check.h"
#include "common/registry.h"
#include "compressors/payload/payload_buffer.h"
#include "proto/compressor_config.pb.h"
#include "tensor/backend.h"
#include "tensor/tensor.h"

namespace ps {

// A tensor of weights within a vector: NumElements(shape) elements from `begin`
// on.
struct TensorSpan {
  int64_t begin = 0;
  Shape shape;  // PyTorch's layout; four extents make a convolution.
};

struct CompressorOptions {
  CompressorConfig config;
  // Elements of every gradient that will come; below 2^32.
  int64_t dense_size = 0;
  // Where the payloads are cut: part p covers [part_ends[p - 1], part_ends[p])
  // and its indices count from its own begin. Ascending, the last is
  // dense_size. Empty: one part.
  std::vector<int64_t> part_ends;
  // What the vector is made of: tensors one after the other, from 0 to
  // dense_size. Empty: one of unknown shape.
  std::vector<TensorSpan> tensors;
  // Counter-based draws depend on these and on the iteration, on nothing else.
  uint64_t seed = 0;
  int worker_rank = 0;
  int bucket = 0;
  int num_workers = 1;  // At least 1.
  // Of "auto": which buckets are compressed now, [bucket]; the others are sent
  // whole. Not owned; outlives the compressor, and changes between calls of
  // Compress only. Null: all are.
  const std::vector<bool>* compressed_buckets = nullptr;
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
  int64_t count = 0;  // Elements sent.
  // max(1, floor(ratio x dense_size)), 0 if empty; `count` where the ratio has
  // no say.
  int64_t target_count = 0;
  int stages = 0;
  // "auto" sent everything, because that takes less time.
  bool chosen_dense = false;
  // Why the choice is not what the estimate alone would have made of it; empty
  // if it is. See each compressor.
  std::string fallback;
};

struct EncodedGradient {
  // One per part, in order. Each describes itself (compressors/payload/payload.h).
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

// What a plug-in registers. Its options have passed the checks of
// NewCompressor (compressors/new_compressor.h), which is what to call.
using CompressorFactory =
    absl::StatusOr<std::unique_ptr<Compressor>> (*)(const CompressorOptions&);

// Every compressor that is linked in.
Registry<CompressorFactory>& CompressorRegistry();

#define REGISTER_COMPRESSOR(name, factory)                                \
  [[maybe_unused]] static const bool ps_compressor_registered_##factory = \
      ::ps::CompressorRegistry().Register(name, factory)

// Whether the compressor writes a code of its own; ratio, index_code and
// value_code have no say then. False for an unknown name.
bool WritesOwnCode(const std::string& name);

// Reports index_code and value_code if they are set for a compressor that
// writes its own; `path` ends in a dot or is empty.
void CheckOwnCode(const CompressorConfig& config, const std::string& path,
                  ConfigProblems* problems);

// In place of REGISTER_COMPRESSOR for those.
#define REGISTER_COMPRESSOR_WITH_OWN_CODE(name, factory)     \
  REGISTER_COMPRESSOR(name, factory);                        \
  [[maybe_unused]] static const bool ps_own_code_##factory = \
      ::ps::RegisterOwnCode(name)

// Returns true.
bool RegisterOwnCode(const std::string& name);

// Whether the config's ratio is what the compressor aims at; false where
// something else decides how much is sent. True for an unknown name.
bool HasTargetRatio(const std::string& name);

// In place of REGISTER_COMPRESSOR for those that it is false for and that write
// no code of their own.
#define REGISTER_COMPRESSOR_WITHOUT_TARGET_RATIO(name, factory) \
  REGISTER_COMPRESSOR(name, factory);                           \
  [[maybe_unused]] static const bool ps_no_target_##factory =   \
      ::ps::RegisterWithoutTargetRatio(name)

// Returns true.
bool RegisterWithoutTargetRatio(const std::string& name);

}  // namespace ps

#endif  // COMPRESSORS_COMPRESSOR_H_
