// Rounds the magnitude of each value to the power of two below or above it, at
// random such that the expectation is the value: Horvath et al., "Natural
// compression for distributed deep learning", arXiv 1905.10988. Unbiased, with
// a relative variance of at most 1/8. A value that would become infinite takes
// the power below.
//
//     values := 9 bits each: the exponent of a float, and above it the sign
#include <algorithm>
#include <limits>
#include <memory>

#include "common/status_macros.h"
#include "compressors/payload/bit_stream.h"
#include "compressors/value_codes/philox.h"
#include "compressors/value_codes/value_codec.h"
#include "compressors/value_codes/value_steps.h"

namespace ps {
namespace {

constexpr int64_t kBlock = 1024;

int64_t NaturalBytes(int64_t count) {
  return BytesOfBits(count * kNaturalBits);
}

float DecodedValue(uint32_t code) {
  const uint32_t exponent = code & kExponentMask;
  // Zero has only one sign, and the exponent of infinity is invalid.
  if (code > kExponentMask && exponent == 0) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  return NaturalValue(code);
}

class NaturalDecoder final : public ValueDecoder {
 public:
  explicit NaturalDecoder(const PieceReader& bytes) : bits_(bytes) {}

  void Next(absl::Span<float> values) override {
    ReadCodes(kNaturalBits, values.size(), &bits_,
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
        writer.Put(TakeNatural(draws[i], &values[begin + i]), kNaturalBits);
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

REGISTER_VALUE_CODEC(natural,
                     "9 bits: the power of two above or below, at random",
                     new NaturalCodec);

}  // namespace
}  // namespace ps
