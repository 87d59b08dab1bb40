// Sends a threshold T, with its sign, for each value of at least that
// magnitude, and 0 for all others: MXNet's 2-bit compression
// (src/kvstore/gradient_compression-inl.h). One step sends at most T of a
// coordinate, so T should be near the gradient's scale. The residual is part of
// the method: it needs error feedback.
//
//     values := T f32, pairs of bits, highest pair first (00: 0, 10: -T,
//               11: T)
#include <cstring>
#include <limits>
#include <memory>

#include "common/status_macros.h"
#include "compressors/value_codes/digits.h"
#include "compressors/value_codes/value_codec.h"
#include "compressors/value_codes/value_steps.h"

namespace ps {
namespace {

constexpr int64_t kThresholdBytes = sizeof(float);

int64_t PairBytes(int64_t count) {
  return kThresholdBytes + kBitPairs.bytes(count);
}

class TwoBitThresholdCodec final : public ValueCodec {
 public:
  absl::string_view name() const override { return "two_bit_threshold"; }
  ValueCode number() const override { return ValueCode::kTwoBitThreshold; }

  CodingError Error(const ValueCodeConfig&) const override {
    CodingError error;
    error.unbiased = false;
    error.variance = 1;  // A value below T is lost whole; none loses more.
    return error;
  }

  int64_t MaxEncodedSize(int64_t count, const ValueCodeConfig&) const override {
    return PairBytes(count);
  }

  int64_t Encode(const ValueWriting& writing, absl::Span<float> values,
                 uint8_t* out) const override {
    const float threshold = writing.config.threshold();
    std::memcpy(out, &threshold, sizeof(threshold));
    const auto take = [values, threshold](int64_t i) {
      return TakePair(threshold, &values[i]);
    };
    const int64_t count = static_cast<int64_t>(values.size());
    PackDigits(kBitPairs, count, take, out + kThresholdBytes);
    return PairBytes(count);
  }

  absl::StatusOr<std::unique_ptr<ValueDecoder>> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const override {
    PS_RETURN_IF_ERROR(CheckValueBytes(info, PairBytes(info.count)));
    PieceReader reader = bytes;
    PS_ASSIGN_OR_RETURN(const float threshold, ReadScale(&reader));
    const float nothing = std::numeric_limits<float>::quiet_NaN();
    return NewDigitDecoder(kBitPairs, {0, nothing, -threshold, threshold},
                           info.count, reader);
  }
};

REGISTER_VALUE_CODEC(two_bit_threshold,
                     "2 bits: plus or minus a threshold, or 0",
                     new TwoBitThresholdCodec);

}  // namespace
}  // namespace ps
