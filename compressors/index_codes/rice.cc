// Writes the gap before each index in Rice's code: gap / 2^k in unary, as that
// many ones and a zero, then the k low bits. Rice and Plaunt, "Adaptive
// variable-length coding for efficient compression of spacecraft television
// data", IEEE Trans. Commun. 1971. The size is within 0.1 bits per index of the
// entropy of independent positions at any density below 0.4.
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/index_codes/gaps.h"
#include "compressors/index_codes/index_codec.h"
#include "compressors/payload/bit_stream.h"

namespace ps {
namespace {

// One byte with the parameter precedes the code words.
constexpr int kParameterBytes = 1;
constexpr int kMaxParameter = 31;

// Returns the k that minimizes the expected code length if each position is
// taken with probability p: the smallest k with (1 - p)^(2^k) < (sqrt(5) - 1) /
// 2 (Kiely, "Selecting the Golomb parameter in Rice coding", IPN Progress
// Report 42-159, 2004). It takes one division and repeated squaring, which IEEE
// 754 rounds alike everywhere; readers recompute it.
int RiceParameter(int64_t count, int64_t dense_size) {
  constexpr double kGoldenRatioLessOne = 0.6180339887498949;
  if (count == 0) return 0;
  // The probability that none of 2^k positions is taken.
  double none_taken =
      static_cast<double>(dense_size - count) / static_cast<double>(dense_size);
  int k = 0;
  while (none_taken >= kGoldenRatioLessOne && k < kMaxParameter) {
    none_taken *= none_taken;
    ++k;
  }
  return k;
}

class RiceDecoder final : public IndexDecoder {
 public:
  RiceDecoder(const PayloadInfo& info, const PieceReader& bytes)
      : dense_size_(static_cast<uint64_t>(info.dense_size)),
        k_(RiceParameter(info.count, info.dense_size)),
        bits_(bytes),
        written_k_(static_cast<int>(bits_.Read(8 * kParameterBytes))) {}

  absl::Status Next(absl::Span<uint32_t> indices) override {
    if (written_k_ != k_ || bits_.past_end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Rice parameter ", written_k_, "; this density has ", k_));
    }
    for (size_t i = 0; i < indices.size();) {
      const size_t read = ReadShortGaps(indices.subspan(i));
      i += read;
      if (read == 0) {
        PS_RETURN_IF_ERROR(SkipLongGap(&next_));
        indices[i++] = static_cast<uint32_t>(next_++);
      }
      if (next_ > dense_size_) return OutOfRange(next_ - 1);
    }
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    PS_RETURN_IF_ERROR(Next({}));
    if (bits_.AtEnd()) return absl::OkStatus();
    return absl::InvalidArgumentError("more indices than the header says");
  }

 private:
  // Decodes indices up to the first that is out of range, or before the first
  // whose code does not fit a window. Returns their number.
  size_t ReadShortGaps(absl::Span<uint32_t> indices) {
    // Copies, which can stay in registers.
    BitReader bits = bits_;
    const int k = k_;
    const uint64_t low_mask = LowBits(k);
    // Most codes take at most k + 3 bits. To read a fixed number of them from
    // each window is predicted well; seldom, they do not fit.
    const size_t at_once = std::max(1, BitReader::kRefilled / (k + 3));
    uint64_t next = next_;
    size_t i = 0;
    for (size_t first = 0; i < indices.size() && next <= dense_size_;
         first = i) {
      bits.Refill();
      // The ones as zeros, then a one above the available bits, which ends each
      // search.
      uint64_t zeros = ~bits.window() | uint64_t{1} << 63;
      int left = bits.available();
      const size_t end = std::min(i + at_once, indices.size());
      while (i < end && next <= dense_size_) {
        const int ones = __builtin_ctzll(zeros);
        const int length = ones + 1 + k;
        if (length > left) break;
        const uint64_t low = ~(zeros >> ones >> 1) & low_mask;
        zeros >>= length;
        left -= length;
        next += (static_cast<uint64_t>(ones) << k) + low + 1;
        indices[i++] = static_cast<uint32_t>(next - 1);
      }
      bits.Consume(bits.available() - left);
      if (i == first) break;
    }
    bits_ = bits;
    next_ = next;
    return i;
  }

  // Handles a gap that does not fit a window, or that the bytes do not hold.
  absl::Status SkipLongGap(uint64_t* next) {
    while (bits_.Read(1) != 0) {
      *next += uint64_t{1} << k_;
      if (*next >= dense_size_) return OutOfRange(*next);
    }
    *next += bits_.Read(k_);
    if (!bits_.past_end()) return absl::OkStatus();
    return absl::InvalidArgumentError("fewer indices than the header says");
  }

  absl::Status OutOfRange(uint64_t index) const {
    return absl::InvalidArgumentError(
        absl::StrCat("index ", index, " of ", dense_size_, " positions"));
  }

  const uint64_t dense_size_;
  const int k_;
  BitReader bits_;
  const int written_k_;
  uint64_t next_ = 0;  // The lowest index that may follow.
};

class RiceCodec final : public IndexCodec {
 public:
  absl::string_view name() const override { return "rice"; }
  IndexCode number() const override { return IndexCode::kRice; }

  bool Fits(const IndexList&) const override { return true; }

  int64_t EncodedSize(const IndexList& list) const override {
    const int k = RiceParameter(list.count(), list.dense_size);
    uint32_t ones = 0;  // At most the number of positions.
    ForEachGap(list, [&ones, k](uint32_t skipped) { ones += skipped >> k; });
    return kParameterBytes + BytesOfBits(list.count() * (k + 1) + ones);
  }

  void Encode(const IndexList& list, uint8_t* out) const override {
    const int k = RiceParameter(list.count(), list.dense_size);
    *out = static_cast<uint8_t>(k);
    BitWriter writer(out + kParameterBytes);
    ForEachGap(list, [&writer, k](uint32_t skipped) {
      constexpr uint32_t kOnesAtOnce = 31;
      uint32_t ones = skipped >> k;
      for (; ones > kOnesAtOnce; ones -= kOnesAtOnce) {
        writer.Put(LowBits(kOnesAtOnce), kOnesAtOnce);
      }
      const uint64_t low = skipped & LowBits(k);
      if (ones + 1 + k <= 32) {
        writer.Put(LowBits(ones) | low << (ones + 1), ones + 1 + k);
      } else {
        writer.Put(LowBits(ones), ones + 1);
        writer.Put(low, k);
      }
    });
    writer.Finish();
  }

  std::unique_ptr<IndexDecoder> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const override {
    return std::make_unique<RiceDecoder>(info, bytes);
  }
};

REGISTER_INDEX_CODEC(RiceCodec);

}  // namespace
}  // namespace ps
