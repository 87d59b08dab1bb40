// Writes one bit per position, lowest bit of a byte first; bits past the last
// position are zero. The smallest of all codes at densities between about 1/8
// and 7/8.
#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/index_codes/index_codec.h"

namespace ps {
namespace {

constexpr int64_t kBits = 8;

int64_t BitmapBytes(int64_t dense_size) {
  return (dense_size + kBits - 1) / kBits;
}

class BitmapDecoder final : public IndexDecoder {
 public:
  BitmapDecoder(const PayloadInfo& info, const PieceReader& bytes)
      : dense_size_(info.dense_size), bytes_(bytes) {}

  absl::Status Next(absl::Span<uint32_t> indices) override {
    if (bytes_read_ == 0 && bytes_.remaining() != BitmapBytes(dense_size_)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a bitmap of ", bytes_.remaining(), " bytes for ",
                       dense_size_, " positions"));
    }
    for (uint32_t& index : indices) {
      while (byte_ == 0) {
        if (!ReadByte()) {
          return absl::InvalidArgumentError(
              "fewer indices than the header says");
        }
      }
      const int64_t position = (bytes_read_ - 1) * kBits + __builtin_ctz(byte_);
      if (position >= dense_size_) {
        return absl::InvalidArgumentError(absl::StrCat(
            "index ", position, " of ", dense_size_, " positions"));
      }
      index = static_cast<uint32_t>(position);
      byte_ &= byte_ - 1;  // Clears the lowest set bit.
    }
    return absl::OkStatus();
  }

  absl::Status Finish() override {
    PS_RETURN_IF_ERROR(Next({}));
    while (byte_ == 0) {
      if (!ReadByte()) return absl::OkStatus();
    }
    return absl::InvalidArgumentError("more indices than the header says");
  }

 private:
  bool ReadByte() {
    uint8_t byte = 0;
    if (!bytes_.ReadByte(&byte)) return false;
    byte_ = byte;
    ++bytes_read_;
    return true;
  }

  const int64_t dense_size_;
  PieceReader bytes_;
  int64_t bytes_read_ = 0;
  uint32_t byte_ = 0;  // The bits of the last byte still to be read.
};

class BitmapCodec final : public IndexCodec {
 public:
  absl::string_view name() const override { return "bitmap"; }
  IndexCode number() const override { return IndexCode::kBitmap; }

  bool Fits(const IndexList&) const override { return true; }
  int64_t EncodedSize(const IndexList& list) const override {
    return BitmapBytes(list.dense_size);
  }
  void Encode(const IndexList& list, uint8_t* out) const override {
    std::fill_n(out, BitmapBytes(list.dense_size), uint8_t{0});
    for (const uint32_t index : list.indices) {
      const uint32_t position = index - list.begin;
      out[position / kBits] |= static_cast<uint8_t>(1u << position % kBits);
    }
  }

  std::unique_ptr<IndexDecoder> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const override {
    return std::make_unique<BitmapDecoder>(info, bytes);
  }
};

REGISTER_INDEX_CODEC(BitmapCodec);

}  // namespace
}  // namespace ps
