// Implements codes that write each value separately as a 16-bit float.
#ifndef COMPRESSORS_VALUE_CODES_TWO_BYTE_CODEC_H_
#define COMPRESSORS_VALUE_CODES_TWO_BYTE_CODEC_H_

#include <algorithm>
#include <cstring>
#include <memory>

#include "common/status_macros.h"
#include "compressors/value_codes/value_codec.h"
#include "glog/logging.h"

namespace ps {

// A codec of a format. Format has kName, kNumber, kRelativeError (of rounding),
// and the static functions Narrow, from float to uint16_t, and Widen, back to
// float.
template <typename Format>
class TwoByteCodec final : public ValueCodec {
 public:
  absl::string_view name() const override { return Format::kName; }
  ValueCode number() const override { return Format::kNumber; }

  // The error holds for values within the format's range.
  CodingError Error(const ValueCodeConfig&) const override {
    CodingError error;
    error.variance = Format::kRelativeError * Format::kRelativeError;
    return error;
  }

  int64_t MaxEncodedSize(int64_t count, const ValueCodeConfig&) const override {
    return count * kBytes;
  }

  int64_t Encode(const ValueWriting&, absl::Span<float> values,
                 uint8_t* out) const override {
    const int64_t bytes = static_cast<int64_t>(values.size()) * kBytes;
    uint16_t block[kBlock];
    while (!values.empty()) {
      const size_t n = std::min(kBlock, values.size());
      for (size_t i = 0; i < n; ++i) {
        block[i] = Format::Narrow(values[i]);
        values[i] -= Format::Widen(block[i]);
      }
      std::memcpy(out, block, n * kBytes);
      out += n * kBytes;
      values.remove_prefix(n);
    }
    return bytes;
  }

  absl::StatusOr<std::unique_ptr<ValueDecoder>> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const override {
    PS_RETURN_IF_ERROR(CheckValueBytes(info, info.count * kBytes));
    return std::make_unique<Decoder>(bytes);
  }

 private:
  static constexpr int64_t kBytes = sizeof(uint16_t);
  static constexpr size_t kBlock = 1024;

  class Decoder final : public ValueDecoder {
   public:
    explicit Decoder(const PieceReader& bytes) : bytes_(bytes) {}

    void Next(absl::Span<float> values) override {
      uint16_t block[kBlock];
      while (!values.empty()) {
        const size_t n = std::min(kBlock, values.size());
        CHECK(bytes_.Read(block, n * kBytes));
        for (size_t i = 0; i < n; ++i) values[i] = Format::Widen(block[i]);
        values.remove_prefix(n);
      }
    }

   private:
    PieceReader bytes_;
  };
};

}  // namespace ps

#endif  // COMPRESSORS_VALUE_CODES_TWO_BYTE_CODEC_H_
