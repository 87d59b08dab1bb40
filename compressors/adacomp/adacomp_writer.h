// Writes the segments that adacomp_words.h defines.
#ifndef COMPRESSORS_ADACOMP_ADACOMP_WRITER_H_
#define COMPRESSORS_ADACOMP_ADACOMP_WRITER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace ps {

// Elements [begin, end) of a tensor, at least one.
struct AdaCompPiece {
  int bin_size = 0;  // 1 to kMaxAdaCompBinSize.
  int64_t begin = 0;
  int64_t end = 0;
  float scale = 0;
  // The elements that are sent: their ascending positions in the tensor, and
  // whether each is sent as -scale instead of scale.
  absl::Span<const uint32_t> positions;
  absl::Span<const uint8_t> negative;
};

void AppendAdaCompSegment(const AdaCompPiece& piece,
                          std::vector<uint8_t>* bytes);

// Appends values, at least one, as a dense segment.
void AppendDenseSegment(absl::Span<const float> values,
                        std::vector<uint8_t>* bytes);

}  // namespace ps

#endif  // COMPRESSORS_ADACOMP_ADACOMP_WRITER_H_
