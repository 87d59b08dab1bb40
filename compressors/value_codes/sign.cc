// Writes the sign of each value, and their mean magnitude: the scaled sign of
// Karimireddy, Rebjock, Stich, Jaggi, "Error feedback fixes SignSGD", ICML
// 2019. Zero counts as positive. Biased: needs error feedback. With a scale of
// 1 it is a vote: Bernstein, Wang, Azizzadenesheli, Anandkumar, "signSGD:
// compressed optimisation for non-convex problems", ICML 2018.
//
//     values := scale f32, bits (1: negative)
#include <cstring>
#include <limits>
#include <memory>

#include "common/status_macros.h"
#include "compressors/value_codes/digits.h"
#include "compressors/value_codes/value_codec.h"
#include "compressors/value_codes/value_steps.h"
#include "compressors/value_codes/value_sums.h"

namespace ps {
namespace {

constexpr int64_t kScaleBytes = sizeof(float);

int64_t SignBytes(int64_t count) { return kScaleBytes + kBits.bytes(count); }

class SignCodec final : public ValueCodec {
 public:
  absl::string_view name() const override { return "sign"; }
  ValueCode number() const override { return ValueCode::kSign; }

  CodingError Error(const ValueCodeConfig& config) const override {
    CodingError error;
    error.unbiased = false;
    // The bound is 1 - 1 / n for n values, except for a scale of 1.
    error.variance = config.sign_scale() == ValueCodeConfig::L1_MEAN
                         ? 1.0
                         : std::numeric_limits<double>::infinity();
    return error;
  }

  int64_t MaxEncodedSize(int64_t count, const ValueCodeConfig&) const override {
    return SignBytes(count);
  }

  int64_t Encode(const ValueWriting& writing, absl::Span<float> values,
                 uint8_t* out) const override {
    const int64_t count = static_cast<int64_t>(values.size());
    float scale = 1;
    if (writing.config.sign_scale() == ValueCodeConfig::L1_MEAN) {
      scale = MeanMagnitude(AddUp<MagnitudeSum>(values.data(), count), count);
    }
    std::memcpy(out, &scale, sizeof(scale));
    const auto take = [values, scale](int64_t i) {
      return TakeSign(scale, scale, &values[i]);
    };
    PackDigits(kBits, count, take, out + kScaleBytes);
    return SignBytes(count);
  }

  absl::StatusOr<std::unique_ptr<ValueDecoder>> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const override {
    PS_RETURN_IF_ERROR(CheckValueBytes(info, SignBytes(info.count)));
    PieceReader reader = bytes;
    PS_ASSIGN_OR_RETURN(const float scale, ReadScale(&reader));
    return NewDigitDecoder(kBits, {scale, -scale}, info.count, reader);
  }
};

REGISTER_VALUE_CODEC(sign, "1 bit: the sign of the mean magnitude",
                     new SignCodec);

}  // namespace
}  // namespace ps
