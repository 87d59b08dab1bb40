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
    const uint64_t low_mask = LowBits(k_);
    uint64_t next = next_;
    for (uint32_t& index : indices) {
      bits_.Refill();
      const uint64_t window = bits_.window();
      // A window that is all ones has no zero to find.
      const int ones = ~window == 0 ? 64 : __builtin_ctzll(~window);
      if (ones + 1 + k_ <= bits_.available()) {
        const uint64_t low = (window >> (ones + 1)) & low_mask;
        bits_.Consume(ones + 1 + k_);
        next += (static_cast<uint64_t>(ones) << k_) + low;
      } else {
        PS_RETURN_IF_ERROR(SkipLongGap(&next));
      }
      if (next >= dense_size_) return OutOfRange(next);
      index = static_cast<uint32_t>(next++);
    }
    next_ = next;
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    PS_RETURN_IF_ERROR(Next({}));
    if (bits_.AtEnd()) return absl::OkStatus();
    return absl::InvalidArgumentError("more indices than the header says");
  }

 private:
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
    int64_t bits = list.count() * (k + 1);
    ForEachGap(list, [&bits, k](uint32_t skipped) { bits += skipped >> k; });
    return kParameterBytes + BytesOfBits(bits);
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
