// The sign of each value, times their mean magnitude: the scaled sign of
// Karimireddy, Rebjock, Stich, Jaggi, "Error feedback fixes SignSGD", ICML
// 2019. Zero counts as positive. Biased: needs error feedback.
//
//     values := scale f32, bits (1: negative)
#include <cmath>
#include <cstring>
#include <memory>

#include "common/status_macros.h"
#include "compressors/value_codes/digits.h"
#include "compressors/value_codes/value_codec.h"

namespace ps {
namespace {

constexpr int64_t kScaleBytes = sizeof(float);

int64_t SignBytes(int64_t count) { return kScaleBytes + kBits.bytes(count); }

class SignCodec final : public ValueCodec {
 public:
  absl::string_view name() const override { return "sign"; }
  ValueCode number() const override { return ValueCode::kSign; }

  int64_t EncodedSize(int64_t count, const ValueCodeConfig&) const override {
    return SignBytes(count);
  }

  void Encode(const ValueWriting&, absl::Span<float> values,
              uint8_t* out) const override {
    double sum = 0;
    for (const float value : values) sum += std::fabs(value);
    // A mean of floats is no larger than the largest float.
    const float scale =
        values.empty() ? 0.0f : static_cast<float>(sum / values.size());
    std::memcpy(out, &scale, sizeof(scale));
    const auto take = [values, scale](int64_t i) {
      const int negative = values[i] < 0;
      values[i] -= negative ? -scale : scale;
      return negative;
    };
    PackDigits(kBits, static_cast<int64_t>(values.size()), take,
               out + kScaleBytes);
  }

  absl::StatusOr<std::unique_ptr<ValueDecoder>> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const override {
    PS_RETURN_IF_ERROR(CheckValueBytes(info, SignBytes(info.count)));
    PieceReader reader = bytes;
    PS_ASSIGN_OR_RETURN(const float scale, ReadScale(&reader));
    return NewDigitDecoder(kBits, {scale, -scale}, info.count, reader);
  }
};

REGISTER_VALUE_CODEC(sign, new SignCodec);

}  // namespace
}  // namespace ps
