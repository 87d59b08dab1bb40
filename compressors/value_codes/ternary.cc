// Writes the sign of each value at the scale of the largest magnitude, with a
// probability proportional to its own magnitude, otherwise 0. Wen et al.,
// "TernGrad: ternary gradients to reduce communication in distributed deep
// learning", NIPS 2017, with one payload per layer. Unbiased except for the
// clipping of their section 4, which keeps outliers from making the scale, and
// so the variance, large.
//
//     values := scale f32, five digits per byte (0: 0, 1: scale, 2: -scale)
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "common/status_macros.h"
#include "compressors/value_codes/digits.h"
#include "compressors/value_codes/level_loops.h"
#include "compressors/value_codes/philox.h"
#include "compressors/value_codes/value_codec.h"
#include "compressors/value_codes/value_sums.h"

namespace ps {
namespace {

constexpr int64_t kScaleBytes = sizeof(float);
// The values are rounded to the levels 0 and 1, whose codes have one bit for
// the level and one for the sign.
constexpr int kLevelBits = 2;
// Number of draws made together; a multiple of the digits per byte and of 4.
constexpr int64_t kBlock = 1000;

// Maps a level code to its digit.
int TernaryDigit(uint8_t level_code) {
  return level_code == 3 ? 2 : int{level_code};
}

int64_t TernaryBytes(int64_t count) {
  return kScaleBytes + kTrits.bytes(count);
}

class TernaryCodec final : public ValueCodec {
 public:
  absl::string_view name() const override { return "ternary"; }
  ValueCode number() const override { return ValueCode::kTernary; }

  bool RoundsAtRandom() const override { return true; }

  CodingError Error(const ValueCodeConfig&) const override {
    CodingError error;  // Clipping adds a small bias.
    // With one large value among n the variance grows as sqrt(n); with the
    // default clipping it is about 1 for Gaussian values.
    error.variance = std::numeric_limits<double>::infinity();
    return error;
  }

  int64_t MaxEncodedSize(int64_t count, const ValueCodeConfig&) const override {
    return TernaryBytes(count);
  }

  int64_t Encode(const ValueWriting& writing, absl::Span<float> values,
                 uint8_t* out) const override {
    const int64_t count = static_cast<int64_t>(values.size());
    const float scale = ClippedScale(AddUp<SpreadSums>(values.data(), count),
                                     count, writing.config.clip());
    std::memcpy(out, &scale, sizeof(scale));
    out += kScaleBytes;
    const UniformDraws uniform(writing.random_key);
    float draws[kBlock];
    uint8_t codes[kBlock];
    for (int64_t begin = 0; begin < count; begin += kBlock) {
      const int64_t n = std::min(kBlock, count - begin);
      uniform.Fill(begin, absl::MakeSpan(draws, n));
      LevelStretch stretch;
      stretch.scale = scale;
      stretch.bits = kLevelBits;
      stretch.n = n;
      stretch.draws = draws;
      stretch.values = &values[begin];
      stretch.codes = codes;
      RoundToUniformLevels(stretch);
      const auto take = [&codes](int64_t i) { return TernaryDigit(codes[i]); };
      PackDigits(kTrits, n, take, out);
      out += kTrits.bytes(n);
    }
    return TernaryBytes(count);
  }

  absl::StatusOr<std::unique_ptr<ValueDecoder>> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const override {
    PS_RETURN_IF_ERROR(CheckValueBytes(info, TernaryBytes(info.count)));
    PieceReader reader = bytes;
    PS_ASSIGN_OR_RETURN(const float scale, ReadScale(&reader));
    return NewDigitDecoder(kTrits, {0, scale, -scale}, info.count, reader);
  }
};

REGISTER_VALUE_CODEC(ternary, "1.6 bits: the sign at one scale or 0, at random",
                     new TernaryCodec);

}  // namespace
}  // namespace ps
