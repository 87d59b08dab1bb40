// Writes the gap before each index as LEB128: seven bits per byte, lowest
// first, with the top bit set on all bytes but the last. An index takes one
// byte at densities above about 1/30, two down to about 1/4000.
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/index_codes/gaps.h"
#include "compressors/index_codes/index_codec.h"

namespace ps {
namespace {

// LEB128's number of payload bits per byte, and the bit that announces more
// bytes.
constexpr int kVarintBits = 7;
constexpr uint32_t kVarintMore = 0x80;

class DeltaVarintDecoder final : public IndexDecoder {
 public:
  DeltaVarintDecoder(const PayloadInfo& info, const PieceReader& bytes)
      : dense_size_(static_cast<uint64_t>(info.dense_size)), bytes_(bytes) {}

  absl::Status Next(absl::Span<uint32_t> indices) override {
    for (size_t i = ReadShortGaps(indices); i < indices.size();
         i += ReadShortGaps(indices.subspan(i))) {
      uint64_t skipped = 0;
      PS_RETURN_IF_ERROR(ReadVarint(&skipped));
      // Both are below 2^35, so the sum does not overflow.
      const uint64_t next = next_ + skipped;
      if (next >= dense_size_) {
        return absl::InvalidArgumentError(
            absl::StrCat("index ", next, " of ", dense_size_, " positions"));
      }
      indices[i++] = static_cast<uint32_t>(next);
      next_ = next + 1;
    }
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    if (bytes_.remaining() == 0) return absl::OkStatus();
    return absl::InvalidArgumentError("more indices than the header says");
  }

 private:
  // Decodes indices while their gaps take one or two bytes, are valid and do
  // not lie in two pieces. Returns their number.
  size_t ReadShortGaps(absl::Span<uint32_t> indices) {
    const absl::Span<const uint8_t> run = bytes_.Contiguous();
    // Copies, which can stay in registers.
    const uint8_t* at = run.data();
    uint64_t next = next_;
    size_t i = 0;
    for (; i < indices.size() && run.end() - at >= 2; ++i) {
      uint64_t skipped = at[0];
      const bool two = skipped >= kVarintMore;
      if (two) {
        if (at[1] == 0 || at[1] >= kVarintMore) break;
        skipped += (at[1] - uint64_t{1}) << kVarintBits;
      }
      if (next + skipped >= dense_size_) break;
      indices[i] = static_cast<uint32_t>(next + skipped);
      next += skipped + 1;
      at += two ? 2 : 1;
    }
    bytes_.Skip(at - run.data());
    next_ = next;
    return i;
  }

  absl::Status ReadVarint(uint64_t* value) {
    // Five bytes hold any 32-bit number.
    for (int shift = 0; shift < 5 * kVarintBits; shift += kVarintBits) {
      uint8_t byte = 0;
      if (!bytes_.ReadByte(&byte)) {
        return absl::InvalidArgumentError("fewer indices than the header says");
      }
      *value |= uint64_t{byte & (kVarintMore - 1u)} << shift;
      if ((byte & kVarintMore) != 0) continue;
      // Each number has exactly one encoding; otherwise two payloads could
      // differ in bytes but not in meaning.
      if (byte == 0 && shift > 0) {
        return absl::InvalidArgumentError("a gap has a byte too many");
      }
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError("a gap has more than five bytes");
  }

  const uint64_t dense_size_;
  PieceReader bytes_;
  uint64_t next_ = 0;  // The lowest index that may follow.
};

class DeltaVarintCodec final : public IndexCodec {
 public:
  absl::string_view name() const override { return "delta_varint"; }
  IndexCode number() const override { return IndexCode::kDeltaVarint; }

  bool Fits(const IndexList&) const override { return true; }

  int64_t EncodedSize(const IndexList& list) const override {
    int64_t size = list.count();
    for (int bits = kVarintBits; list.dense_size >> bits > 0;
         bits += kVarintBits) {
      uint32_t longer = 0;  // 32 bits, as the gaps, for vector instructions.
      ForEachGap(list, [&longer, bits](uint32_t skipped) {
        longer += skipped >> bits != 0 ? 1 : 0;
      });
      size += longer;
    }
    return size;
  }

  void Encode(const IndexList& list, uint8_t* out) const override {
    ForEachGap(list, [&out](uint32_t skipped) {
      while (skipped >= kVarintMore) {
        *out++ = static_cast<uint8_t>(skipped | kVarintMore);
        skipped >>= kVarintBits;
      }
      *out++ = static_cast<uint8_t>(skipped);
    });
  }

  std::unique_ptr<IndexDecoder> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const override {
    return std::make_unique<DeltaVarintDecoder>(info, bytes);
  }
};

REGISTER_INDEX_CODEC(DeltaVarintCodec);

}  // namespace
}  // namespace ps
