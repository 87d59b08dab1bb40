// Reads bytes that lie in several pieces as if they were one.
#ifndef COMPRESSORS_PAYLOAD_PIECE_READER_H_
#define COMPRESSORS_PAYLOAD_PIECE_READER_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/types/span.h"
#include "compressors/payload/payload_format.h"

namespace ps {

// A cursor over bytes [begin, end) of the pieces; copies advance independently.
// `pieces` must outlive it and hold at least `end` bytes.
class PieceReader {
 public:
  PieceReader(const PayloadPieces& pieces, int64_t begin, int64_t end)
      : piece_(pieces.data()), remaining_(end - begin) {
    int64_t skip = begin;
    if (remaining_ == 0) return;  // There may be no piece at all.
    while (skip >= static_cast<int64_t>(piece_->size())) {
      skip -= piece_->size();
      ++piece_;
    }
    offset_ = skip;
  }

  int64_t remaining() const { return remaining_; }

  // Returns a reader of n bytes that starts `begin` bytes after the cursor; of
  // fewer bytes if fewer remain.
  PieceReader Subrange(int64_t begin, int64_t n) const {
    PieceReader range = *this;
    range.Advance(std::min(begin, remaining_));
    range.remaining_ = std::min(n, range.remaining_);
    return range;
  }

  // Returns contiguous bytes at the cursor: at least one unless none remain.
  absl::Span<const uint8_t> Contiguous() {
    if (remaining_ == 0) return {};
    while (offset_ == static_cast<int64_t>(piece_->size())) {
      ++piece_;
      offset_ = 0;
    }
    const int64_t n = std::min<int64_t>(remaining_, piece_->size() - offset_);
    return piece_->subspan(offset_, n);
  }

  // Skips n bytes, at most Contiguous().size().
  void Skip(int64_t n) {
    offset_ += n;
    remaining_ -= n;
  }

  // Copies n bytes. Returns false, with the cursor at the end, if fewer remain.
  bool Read(void* out, int64_t n) {
    uint8_t* to = static_cast<uint8_t*>(out);
    while (n > 0) {
      const absl::Span<const uint8_t> bytes = Contiguous();
      if (bytes.empty()) return false;
      const int64_t step = std::min<int64_t>(n, bytes.size());
      std::memcpy(to, bytes.data(), step);
      Skip(step);
      to += step;
      n -= step;
    }
    return true;
  }

  bool ReadByte(uint8_t* out) {
    const absl::Span<const uint8_t> bytes = Contiguous();
    if (bytes.empty()) return false;
    *out = bytes[0];
    Skip(1);
    return true;
  }

 private:
  // Skips n bytes, at most remaining().
  void Advance(int64_t n) {
    while (n > 0) {
      const int64_t step = std::min<int64_t>(n, Contiguous().size());
      Skip(step);
      n -= step;
    }
  }

  const absl::Span<const uint8_t>* piece_;
  int64_t offset_ = 0;  // The offset in *piece_.
  int64_t remaining_;
};

}  // namespace ps

#endif  // COMPRESSORS_PAYLOAD_PIECE_READER_H_
