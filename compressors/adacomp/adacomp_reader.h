// Reads the segments that adacomp_words.h defines, from untrusted bytes.
#ifndef COMPRESSORS_ADACOMP_ADACOMP_READER_H_
#define COMPRESSORS_ADACOMP_ADACOMP_READER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compressors/payload/payload_format.h"
#include "compressors/payload/piece_reader.h"

namespace ps {

struct AdaCompElement {
  uint32_t position = 0;  // The position within the part.
  float value = 0;
};

class AdaCompReader {
 public:
  // `bytes` are the bytes of the values, which describe dense_size positions.
  AdaCompReader(int64_t dense_size, const PieceReader& bytes)
      : dense_size_(dense_size), bytes_(bytes) {}

  // Reads the next element, in ascending order of positions. Returns false
  // after the last one, when all bytes have been read and all positions are
  // accounted for. A value may be a NaN or an infinity only in a dense segment.
  // Errors: kInvalidArgument; the reader must not be used after one.
  absl::StatusOr<bool> Next(AdaCompElement* element);

 private:
  absl::Status ReadHead();
  absl::Status ReadScale();
  absl::StatusOr<bool> NextOfBins(AdaCompElement* element);
  absl::Status SkipEmptyBins(uint32_t word);
  // Reads a word of the segment. Errors: kInvalidArgument if none is left.
  absl::StatusOr<uint32_t> ReadWord();

  const int64_t dense_size_;
  PieceReader bytes_;
  int64_t begin_ = 0;  // Start of the segment in the part.

  // The current segment. Positions count from its begin.
  int bin_size_ = 0;
  int64_t positions_ = 0;
  int64_t next_ = 0;  // In a dense segment: the next position.
  float scale_ = 0;
  int64_t words_left_ = 0;
  // The begin of the current bin; negative if it began earlier.
  int64_t bin_begin_ = 0;
  int64_t last_place_ = 0;  // The bin's previous element; -1 if there is none.
  bool escape_may_follow_ = false;
};

}  // namespace ps

#endif  // COMPRESSORS_ADACOMP_ADACOMP_READER_H_
