// Splits every index in two: the l low bits of each, then the high parts as a
// bitmap in which index i sets bit high + i. Elias, "Efficient storage and
// retrieval by content and address of static files", J. ACM 1974; Fano 1971.
// The size is within 0.6 bits per index of the entropy. Both halves have fixed
// positions, so that many threads can write and read them at once, as on a GPU.
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/index_codes/index_codec.h"
#include "compressors/payload/bit_stream.h"

namespace ps {
namespace {

// The layout follows from the header alone.
struct EliasFanoLayout {
  EliasFanoLayout(int64_t count, int64_t dense_size) {
    if (count == 0) return;
    // floor(log2(dense_size / count)).
    for (int64_t rest = dense_size / count; rest > 1; rest /= 2) ++low_bits;
    max_high = (dense_size - 1) >> low_bits;
    low_bytes = BytesOfBits(count * low_bits);
    high_bytes = BytesOfBits(count + max_high);
  }

  int64_t total_bytes() const { return low_bytes + high_bytes; }

  int low_bits = 0;  // At most 31.
  int64_t max_high = 0;
  int64_t low_bytes = 0;
  int64_t high_bytes = 0;
};

class EliasFanoDecoder final : public IndexDecoder {
 public:
  EliasFanoDecoder(const PayloadInfo& info, const PieceReader& bytes)
      : info_(info),
        layout_(info.count, info.dense_size),
        lows_(bytes.Subrange(0, layout_.low_bytes)),
        highs_(bytes.Subrange(layout_.low_bytes, layout_.high_bytes)) {}

  absl::Status Next(absl::Span<uint32_t> indices) override {
    // If this does not hold, the readers have been given fewer bytes than they
    // need.
    if (info_.index_bytes != layout_.total_bytes()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Elias-Fano code of ", info_.index_bytes, " bytes for ",
                       info_.count, " of ", info_.dense_size, " positions"));
    }
    PS_RETURN_IF_ERROR(ReadHighs(indices));
    if (layout_.low_bits > 0) {
      ReadCodes(layout_.low_bits, indices.size(), &lows_,
                [this, indices](size_t i, uint32_t low) {
                  indices[i] = indices[i] << layout_.low_bits | low;
                });
    }
    int64_t previous = previous_;
    bool ascending = true;
    for (const uint32_t index : indices) {
      ascending &= index > previous;
      previous = index;
    }
    previous_ = previous;
    if (!ascending) {
      return absl::InvalidArgumentError("indices do not ascend");
    }
    if (previous_ >= info_.dense_size) {
      return absl::InvalidArgumentError(absl::StrCat(
          "index ", previous_, " of ", info_.dense_size, " positions"));
    }
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    PS_RETURN_IF_ERROR(Next({}));
    bool left_over = word_ != 0 || !lows_.AtEnd();
    while (ReadWord()) left_over |= word_ != 0;
    if (!left_over) return absl::OkStatus();
    return absl::InvalidArgumentError("more indices than the header says");
  }

 private:
  absl::Status ReadHighs(absl::Span<uint32_t> highs) {
    uint64_t word = word_;
    int64_t largest = 0;
    for (uint32_t& high : highs) {
      while (word == 0) {
        if (!ReadWord()) {
          return absl::InvalidArgumentError(
              "fewer indices than the header says");
        }
        word = word_;
      }
      const int64_t bit = word_begin_ + __builtin_ctzll(word);
      largest = std::max(largest, bit - num_read_);
      high = static_cast<uint32_t>(bit - num_read_++);
      word &= word - 1;  // Clears the lowest set bit.
    }
    word_ = word;
    // Otherwise the low bits could shift it out of 32 bits, back into range.
    if (largest <= layout_.max_high) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("an index begins with ", largest, "; ", info_.dense_size,
                     " positions end in ", layout_.max_high));
  }

  bool ReadWord() {
    word_begin_ += 64;
    word_ = 0;
    const int64_t n = std::min<int64_t>(sizeof(word_), highs_.remaining());
    return n > 0 && highs_.Read(&word_, n);
  }

  const PayloadInfo info_;
  const EliasFanoLayout layout_;
  BitReader lows_;
  PieceReader highs_;
  int64_t word_begin_ = -64;  // The position of word_'s lowest bit.
  uint64_t word_ = 0;         // Set bits still to be read.
  int64_t num_read_ = 0;
  int64_t previous_ = -1;
};

class EliasFanoCodec final : public IndexCodec {
 public:
  absl::string_view name() const override { return "elias_fano"; }
  IndexCode number() const override { return IndexCode::kEliasFano; }

  bool Fits(const IndexList&) const override { return true; }

  int64_t EncodedSize(const IndexList& list) const override {
    return EliasFanoLayout(list.count(), list.dense_size).total_bytes();
  }

  void Encode(const IndexList& list, uint8_t* out) const override {
    const EliasFanoLayout layout(list.count(), list.dense_size);
    BitWriter lows(out);
    uint8_t* const highs = out + layout.low_bytes;
    std::fill_n(highs, layout.high_bytes, uint8_t{0});
    int64_t i = 0;
    for (const uint32_t index : list.indices) {
      const uint32_t relative = index - list.begin;
      lows.Put(relative & LowBits(layout.low_bits), layout.low_bits);
      const int64_t bit = int64_t{relative >> layout.low_bits} + i++;
      highs[bit / 8] |= static_cast<uint8_t>(1u << bit % 8);
    }
    lows.Finish();
  }

  std::unique_ptr<IndexDecoder> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const override {
    return std::make_unique<EliasFanoDecoder>(info, bytes);
  }
};

REGISTER_INDEX_CODEC(EliasFanoCodec);

}  // namespace
}  // namespace ps
