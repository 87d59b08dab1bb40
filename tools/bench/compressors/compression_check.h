// Verifies with plain loops what a compressor did to one gradient.
#ifndef TOOLS_BENCH_COMPRESSORS_COMPRESSION_CHECK_H_
#define TOOLS_BENCH_COMPRESSORS_COMPRESSION_CHECK_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "compressors/compressor.h"
#include "tensor/sparse_kernels.h"

namespace ps {

// Appends the elements of all parts, by their positions in the whole vector.
// The parts end at `part_ends`. Errors: those of ValidatePayload.
absl::Status DecodeParts(const EncodedGradient& encoded,
                         absl::Span<const int64_t> part_ends,
                         Selection* elements);

struct CompressionToCheck {
  absl::Span<const float> sum;               // Residual before + gradient, [n].
  absl::Span<const float> residual;          // Residual after, [n].
  const EncodedGradient* encoded = nullptr;  // Not owned.
  std::vector<int64_t> part_ends;            // Empty: one part.
  // The compressor promises stats.target_count elements, neither more nor
  // fewer.
  bool exact_count = false;
};

// Checks that
// - the payload is one that a server accepts, its indices ascend, and it has
//   as many elements as stats.count says;
// - decoded + residual = sum for every element, exactly where nothing was sent,
//   otherwise within the rounding of the residual to float;
// - if stats.threshold is above 0: no magnitude above it was kept and none
//   below it was sent. A magnitude equal to it may be kept or sent: exact top-k
//   sends some of them.
// Errors: kInternal naming the first element that is wrong.
absl::Status CheckCompression(const CompressionToCheck& check);

}  // namespace ps

#endif  // TOOLS_BENCH_COMPRESSORS_COMPRESSION_CHECK_H_
