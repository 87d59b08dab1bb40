// What a compressor did to one gradient, judged by plain loops.
#ifndef TOOLS_BENCH_COMPRESSORS_COMPRESSION_CHECK_H_
#define TOOLS_BENCH_COMPRESSORS_COMPRESSION_CHECK_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "compressors/compressor.h"

namespace ps {

struct CompressionToCheck {
  absl::Span<const float> sum;               // Residual before + gradient, [n].
  absl::Span<const float> residual;          // What was kept, [n].
  const EncodedGradient* encoded = nullptr;  // Of one part; not owned.
  // The compressor promises stats.target_count elements, neither more nor
  // fewer.
  bool exact_count = false;
};

// That
// - the payload is one that a server accepts, its indices ascend, and it has
//   as many elements as stats.count says;
// - decoded + residual = sum for every element, exactly where nothing was sent,
//   else within the rounding of the residual to float;
// - if stats.threshold is above 0: no magnitude above it was kept and none
//   below it was sent. One equal to it may be either: exact top-k sends some.
// Errors: kInternal naming the first element that is wrong.
absl::Status CheckCompression(const CompressionToCheck& check);

}  // namespace ps

#endif  // TOOLS_BENCH_COMPRESSORS_COMPRESSION_CHECK_H_
