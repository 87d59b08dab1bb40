// Each value as a power of two, the one below or the one above its magnitude,
// at random such that the mean is the value: Horvath et al., "Natural
// compression for distributed deep learning", arXiv 1905.10988. Unbiased, with
// a relative variance of at most 1/8. What would become infinite takes the
// power below.
//
//     values := 9 bits each: the exponent of a float, and above it the sign
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "common/status_macros.h"
#include "compressors/bit_stream.h"
#include "compressors/value_codes/float_bits.h"
#include "compressors/value_codes/philox.h"
#include "compressors/value_codes/value_codec.h"

namespace ps {
namespace {

constexpr int kCodeBits = 9;
constexpr int kFractionBits = 23;
constexpr uint32_t kExponentMask = 0xff;
constexpr uint32_t kLargestExponent = 0xfe;
constexpr int64_t kBlock = 1024;

int64_t NaturalBytes(int64_t count) { return BytesOfBits(count * kCodeBits); }

float DecodedValue(uint32_t code) {
  const uint32_t exponent = code & kExponentMask;
  // Zero has one sign; the exponent of infinity stands for nothing.
  if (code > kExponentMask && exponent == 0) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  return FloatFromBits((code >> 8) << 31 | exponent << kFractionBits);
}

class NaturalDecoder final : public ValueDecoder {
 public:
  explicit NaturalDecoder(const PieceReader& bytes) : bits_(bytes) {}

  void Next(absl::Span<float> values) override {
    ReadCodes(kCodeBits, values.size(), &bits_,
              [values](size_t i, uint32_t c) { values[i] = DecodedValue(c); });
  }

  absl::Status Finish() override {
    if (bits_.AtEnd()) return absl::OkStatus();
    return absl::InvalidArgumentError("more values than the header says");
  }

 private:
  BitReader bits_;
};

class NaturalCodec final : public ValueCodec {
 public:
  absl::string_view name() const override { return "natural"; }
  ValueCode number() const override { return ValueCode::kNatural; }

  bool RoundsAtRandom() const override { return true; }

  CodingError Error(const ValueCodeConfig&) const override {
    CodingError error;
    error.variance = 1.0 / 8;
    return error;
  }

  int64_t MaxEncodedSize(int64_t count, const ValueCodeConfig&) const override {
    return NaturalBytes(count);
  }

  int64_t Encode(const ValueWriting& writing, absl::Span<float> values,
                 uint8_t* out) const override {
    const UniformDraws uniform(writing.random_key);
    float draws[kBlock];
    BitWriter writer(out);
    const int64_t count = static_cast<int64_t>(values.size());
    for (int64_t begin = 0; begin < count; begin += kBlock) {
      const int64_t n = std::min(kBlock, count - begin);
      uniform.Fill(begin, absl::MakeSpan(draws, n));
      for (int64_t i = 0; i < n; ++i) {
        float& value = values[begin + i];
        const uint32_t bits = FloatBits(value);
        // A whole number of 23 bits carries into the exponent with the
        // probability that the fraction has, also below the smallest normal
        // float, whose exponent stands for 0.
        const uint32_t carry = static_cast<uint32_t>(draws[i] * 0x1p23f);
        const uint32_t exponent = std::min(
            ((bits & 0x7fffffff) + carry) >> kFractionBits, kLargestExponent);
        const uint32_t negative = exponent == 0 ? 0 : bits >> 31;
        const uint32_t code = negative << 8 | exponent;
        writer.Put(code, kCodeBits);
        value -= DecodedValue(code);
      }
    }
    writer.Finish();
    return NaturalBytes(count);
  }

  absl::StatusOr<std::unique_ptr<ValueDecoder>> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const override {
    PS_RETURN_IF_ERROR(CheckValueBytes(info, NaturalBytes(info.count)));
    return std::make_unique<NaturalDecoder>(bytes);
  }
};

REGISTER_VALUE_CODEC(natural, new NaturalCodec);

}  // namespace
}  // namespace ps
