// Reads and writes streams of bits in which the first bit is the highest of the
// first byte and numbers are written highest bit first, as is usual for prefix
// codes. compressors/payload/bit_stream.h has the opposite order.
#ifndef COMPRESSORS_VALUE_CODES_HIGH_BIT_STREAM_H_
#define COMPRESSORS_VALUE_CODES_HIGH_BIT_STREAM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/numeric/bits.h"
#include "absl/types/span.h"
#include "compressors/payload/piece_reader.h"

namespace ps {

// The lowest `length` bits of `bits`, highest first; no other bits are set.
// length is at most 64.
struct BitString {
  uint64_t bits = 0;
  int length = 0;
};

// Returns a followed by b: at most 64 bits together. b must have fewer than 64.
inline BitString Concatenate(BitString a, BitString b) {
  return {a.bits << b.length | b.bits, a.length + b.length};
}

// Writes forward from `out`, which must have space for all bits.
class HighBitWriter {
 public:
  explicit HighBitWriter(uint8_t* out) : out_(out) {}

  void Put(BitString string) {
    if (string.length > kAtOnce) {
      const int rest = string.length - kAtOnce;
      PutShort({string.bits >> rest, kAtOnce});
      string.bits &= (uint64_t{1} << rest) - 1;
      string.length = rest;
    }
    PutShort(string);
  }

  // Fills the last byte with zeros and returns the position after it.
  uint8_t* Finish() {
    if (held_ > 0) *out_++ = static_cast<uint8_t>(window_ << (8 - held_));
    held_ = 0;
    return out_;
  }

 private:
  static constexpr int kAtOnce = 56;

  void PutShort(BitString string) {
    window_ = window_ << string.length | string.bits;
    held_ += string.length;
    for (; held_ >= 8; held_ -= 8) {
      *out_++ = static_cast<uint8_t>(window_ >> (held_ - 8));
    }
  }

  uint8_t* out_;
  uint64_t window_ = 0;  // The lowest bits are not written yet.
  int held_ = 0;         // Their number; below 8 between calls.
};

class HighBitReader {
 public:
  explicit HighBitReader(const PieceReader& bytes) : bytes_(bytes) {}

  // Reads at most 32 bits. Bits past the end read as zeros, and past_end()
  // becomes true.
  uint32_t Read(int bits) {
    if (available_ < bits) Refill();
    const int there = std::min(bits, available_);
    past_end_ |= there < bits;
    // Shifts twice, since a shift by 64 is undefined.
    const uint64_t value = window_ >> 32 >> (32 - bits);
    window_ <<= bits;
    available_ -= there;
    return static_cast<uint32_t>(value);
  }

  // Returns the number of zeros before the next 1; 64 if no 1 is in the window.
  int CountZeros() {
    if (available_ < 32) Refill();
    return absl::countl_zero(window_);
  }

  bool past_end() const { return past_end_; }

  // Whether nothing is left but the zeros that fill the last byte.
  bool AtEnd() {
    Refill();
    return !past_end_ && available_ < 8 && window_ == 0;
  }

 private:
  void Refill() {
    while (available_ <= 56) {
      if (at_ == run_end_) {
        const absl::Span<const uint8_t> run = bytes_.Contiguous();
        if (run.empty()) return;
        at_ = run.data();
        run_end_ = at_ + run.size();
        bytes_.Skip(static_cast<int64_t>(run.size()));
      }
      window_ |= uint64_t{*at_++} << (56 - available_);
      available_ += 8;
    }
  }

  PieceReader bytes_;  // Continues at run_end_.
  const uint8_t* at_ = nullptr;
  const uint8_t* run_end_ = nullptr;
  uint64_t window_ = 0;  // The next bits, highest first; zeros below them.
  int available_ = 0;
  bool past_end_ = false;
};

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_HIGH_BIT_STREAM_H_
