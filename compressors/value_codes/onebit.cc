// Writes the sign of each value, decoded as the mean of the negative values or
// of the others: Seide, Fu, Droppo, Li, Yu, "1-bit stochastic gradient descent
// and its application to data-parallel distributed training of speech DNNs",
// Interspeech 2014, with one pair of means per payload instead of per column.
// It is never less exact than `sign`. Biased: needs error feedback.
//
//     values := mean of the others f32, minus the mean of the negative values
//               f32, bits (1: negative)
#include <cstring>
#include <memory>

#include "common/status_macros.h"
#include "compressors/value_codes/digits.h"
#include "compressors/value_codes/value_codec.h"
#include "compressors/value_codes/value_steps.h"
#include "compressors/value_codes/value_sums.h"

namespace ps {
namespace {

constexpr int64_t kMeanBytes = 2 * sizeof(float);

int64_t OneBitBytes(int64_t count) { return kMeanBytes + kBits.bytes(count); }

class OneBitCodec final : public ValueCodec {
 public:
  absl::string_view name() const override { return "onebit"; }
  ValueCode number() const override { return ValueCode::kOneBit; }

  CodingError Error(const ValueCodeConfig&) const override {
    CodingError error;
    error.unbiased = false;
    error.variance = 1;  // The same bound as for `sign`.
    return error;
  }

  int64_t MaxEncodedSize(int64_t count, const ValueCodeConfig&) const override {
    return OneBitBytes(count);
  }

  int64_t Encode(const ValueWriting&, absl::Span<float> values,
                 uint8_t* out) const override {
    const int64_t count = static_cast<int64_t>(values.size());
    const SidedSums sums = AddUp<SidedSums>(values.data(), count);
    const float means[2] = {MeanOfSide(sums, 0), MeanOfSide(sums, 1)};
    std::memcpy(out, means, sizeof(means));
    const auto take = [values, &means](int64_t i) {
      return TakeSign(means[0], means[1], &values[i]);
    };
    PackDigits(kBits, count, take, out + kMeanBytes);
    return OneBitBytes(count);
  }

  absl::StatusOr<std::unique_ptr<ValueDecoder>> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const override {
    PS_RETURN_IF_ERROR(CheckValueBytes(info, OneBitBytes(info.count)));
    PieceReader reader = bytes;
    PS_ASSIGN_OR_RETURN(const float others, ReadScale(&reader));
    PS_ASSIGN_OR_RETURN(const float negative, ReadScale(&reader));
    return NewDigitDecoder(kBits, {others, -negative}, info.count, reader);
  }
};

REGISTER_VALUE_CODEC(
    onebit, "1 bit: the sign, as the mean of the negative or other values",
    new OneBitCodec);

}  // namespace
}  // namespace ps
