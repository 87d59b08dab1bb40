// Writes the segments of adacomp_words.h.
#ifndef COMPRESSORS_ADACOMP_ADACOMP_WRITER_H_
#define COMPRESSORS_ADACOMP_ADACOMP_WRITER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace ps {

// Elements [begin, end), at least one, of a tensor.
struct AdaCompPiece {
  int bin_size = 0;  // 1 to kMaxAdaCompBinSize.
  int64_t begin = 0;
  int64_t end = 0;
  float scale = 0;
  // The elements that are sent: where in the tensor, ascending, and whether as
  // -scale.
  absl::Span<const uint32_t> positions;
  absl::Span<const uint8_t> negative;
};

void AppendAdaCompSegment(const AdaCompPiece& piece,
                          std::vector<uint8_t>* bytes);

// At least one value.
void AppendDenseSegment(absl::Span<const float> values,
                        std::vector<uint8_t>* bytes);

}  // namespace ps

#endif  // COMPRESSORS_ADACOMP_ADACOMP_WRITER_H_
