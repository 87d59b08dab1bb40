// Reads and writes streams of bits: the i-th bit is bit i mod 8, counted from
// the lowest, of byte i / 8. A number of several bits comes lowest bit first.
#ifndef COMPRESSORS_PAYLOAD_BIT_STREAM_H_
#define COMPRESSORS_PAYLOAD_BIT_STREAM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/types/span.h"
#include "compressors/payload/piece_reader.h"

namespace ps {

inline int64_t BytesOfBits(int64_t bits) { return (bits + 7) / 8; }

// Returns a word with the lowest `bits` bits set; bits is at most 63.
inline uint64_t LowBits(int bits) { return (uint64_t{1} << bits) - 1; }

// Writes forward from `out`, which must have space for all bits.
class BitWriter {
 public:
  explicit BitWriter(uint8_t* out) : out_(out) {}

  // bits: at most 32. `value` has no higher bits set.
  void Put(uint64_t value, int bits) {
    window_ |= value << held_;
    held_ += bits;
    if (held_ < 32) return;
    const uint32_t word = static_cast<uint32_t>(window_);
    std::memcpy(out_, &word, sizeof(word));
    out_ += sizeof(word);
    window_ >>= 32;
    held_ -= 32;
  }

  // Writes the remaining bits and fills the last byte with zeros.
  void Finish() {
    for (; held_ > 0; held_ -= 8) {
      *out_++ = static_cast<uint8_t>(window_);
      window_ >>= 8;
    }
  }

 private:
  uint8_t* out_;
  uint64_t window_ = 0;  // The bits that are not written yet.
  int held_ = 0;         // Their number; below 32 between calls.
};

// Reads the stream of a BitWriter through a window of 64 bits: Refill, look at
// the window, Consume.
class BitReader {
 public:
  // The number of bits available after Refill, unless the stream ends first.
  static constexpr int kRefilled = 56;

  explicit BitReader(const PieceReader& bytes) : bytes_(bytes) { NextRun(); }

  void Refill() {
    if (run_end_ - at_ >= 8) {
      uint64_t word;
      std::memcpy(&word, at_, sizeof(word));
      // Bits above available_ may be read before their byte is counted; the
      // same bits are then read again.
      window_ |= word << available_;
      at_ += (63 - available_) >> 3;
      available_ |= kRefilled;
    } else {
      RefillByBytes();
    }
  }

  // Returns the next bits, lowest first; those from available() on are
  // undefined.
  uint64_t window() const { return window_; }
  int available() const { return available_; }

  // Skips bits, at most available().
  void Consume(int bits) {
    window_ >>= bits;
    available_ -= bits;
  }

  // Reads at most kRefilled bits. Bits past the end read as zeros, and
  // past_end() becomes true.
  uint64_t Read(int bits) {
    if (available_ < bits) Refill();
    const int there = std::min(bits, available_);
    past_end_ |= there < bits;
    const uint64_t value = window_ & LowBits(there);
    Consume(there);
    return value;
  }

  bool past_end() const { return past_end_; }

  // Whether nothing is left but the zeros that fill the last byte.
  bool AtEnd() {
    Refill();
    return !past_end_ && available_ < 8 && (window_ & LowBits(available_)) == 0;
  }

 private:
  void NextRun() {
    const absl::Span<const uint8_t> run = bytes_.Contiguous();
    at_ = run.data();
    run_end_ = at_ + run.size();
    bytes_.Skip(static_cast<int64_t>(run.size()));
  }

  void RefillByBytes() {
    while (available_ < kRefilled) {
      if (at_ == run_end_) {
        NextRun();
        if (at_ == run_end_) return;
      }
      window_ |= uint64_t{*at_++} << available_;
      available_ += 8;
    }
  }

  PieceReader bytes_;  // Continues at run_end_.
  const uint8_t* at_ = nullptr;
  const uint8_t* run_end_ = nullptr;
  uint64_t window_ = 0;
  int available_ = 0;
  bool past_end_ = false;
};

// Calls visit(i, code) for the next n codes, i counting from 0. Each code has
// `bits` bits, at most kRefilled. The stream must hold at least n codes.
template <typename Visit>
void ReadCodes(int bits, size_t n, BitReader* reader, Visit visit) {
  const size_t at_once = static_cast<size_t>(BitReader::kRefilled / bits);
  const uint64_t mask = LowBits(bits);
  size_t i = 0;
  while (i + at_once <= n) {
    reader->Refill();
    uint64_t window = reader->window();
    for (size_t j = 0; j < at_once; ++j) {
      visit(i++, static_cast<uint32_t>(window & mask));
      window >>= bits;
    }
    reader->Consume(static_cast<int>(at_once) * bits);
  }
  for (; i < n; ++i) visit(i, static_cast<uint32_t>(reader->Read(bits)));
}

}  // namespace ps

#endif  // COMPRESSORS_PAYLOAD_BIT_STREAM_H_
