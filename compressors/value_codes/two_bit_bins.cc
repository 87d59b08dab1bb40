// Writes which of four bins a value is in, and the mean of each bin: two for
// each sign, which the mean magnitude of that sign divides. Statistical bins of
// two bits, one set for each payload: Sarfi et al., "Communication Efficient
// LLM Pre-training with SparseLoCo", arXiv 2508.15706, section 3, whose bins
// are cut by the standard deviation. It is never less exact than `onebit`.
// Biased: needs error feedback.
//
//     values := four means f32, pairs of bits, highest pair first (bit 1: the
//               value is negative; bit 0: its magnitude is above the mean of
//               its sign); the means are of magnitudes, by pair
#include <array>
#include <cmath>
#include <cstring>
#include <memory>

#include "common/status_macros.h"
#include "compressors/value_codes/digits.h"
#include "compressors/value_codes/value_codec.h"
#include "compressors/value_codes/value_sums.h"

namespace ps {
namespace {

constexpr int kBins = 4;
constexpr int64_t kMeanBytes = kBins * sizeof(float);

int64_t BinBytes(int64_t count) { return kMeanBytes + kBitPairs.bytes(count); }

class TwoBitBinsCodec final : public ValueCodec {
 public:
  absl::string_view name() const override { return "two_bit_bins"; }
  ValueCode number() const override { return ValueCode::kTwoBitBins; }

  CodingError Error(const ValueCodeConfig&) const override {
    CodingError error;
    error.unbiased = false;
    error.variance = 1;  // A bin's mean is nearer to its values than 0 is.
    return error;
  }

  int64_t MaxEncodedSize(int64_t count, const ValueCodeConfig&) const override {
    return BinBytes(count);
  }

  int64_t Encode(const ValueWriting&, absl::Span<float> values,
                 uint8_t* out) const override {
    const int64_t count = static_cast<int64_t>(values.size());
    const SidedSums sums = AddUp<SidedSums>(values.data(), count);
    const float borders[2] = {MeanOfSide(sums, 0), MeanOfSide(sums, 1)};
    const auto bin_of = [&borders](float v) {
      const int negative = v < 0;
      return 2 * negative + (std::fabs(v) > borders[negative]);
    };
    std::array<double, kBins> totals = {};
    std::array<int64_t, kBins> counts = {};
    for (const float v : values) {
      totals[bin_of(v)] += std::fabs(v);
      ++counts[bin_of(v)];
    }
    std::array<float, kBins> means = {};
    for (int bin = 0; bin < kBins; ++bin) {
      if (counts[bin] == 0) continue;
      means[bin] =
          static_cast<float>(totals[bin] / static_cast<double>(counts[bin]));
    }
    std::memcpy(out, means.data(), kMeanBytes);
    const auto take = [values, &bin_of, &means](int64_t i) {
      const int bin = bin_of(values[i]);
      values[i] -= bin >= 2 ? -means[bin] : means[bin];
      return bin;
    };
    PackDigits(kBitPairs, count, take, out + kMeanBytes);
    return BinBytes(count);
  }

  absl::StatusOr<std::unique_ptr<ValueDecoder>> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const override {
    PS_RETURN_IF_ERROR(CheckValueBytes(info, BinBytes(info.count)));
    PieceReader reader = bytes;
    DigitValues means;
    for (int bin = 0; bin < kBins; ++bin) {
      PS_ASSIGN_OR_RETURN(const float mean, ReadScale(&reader));
      means[bin] = bin >= 2 ? -mean : mean;
    }
    return NewDigitDecoder(kBitPairs, means, info.count, reader);
  }
};

REGISTER_VALUE_CODEC(two_bit_bins,
                     "2 bits: the mean of one of four bins of the values",
                     new TwoBitBinsCodec);

}  // namespace
}  // namespace ps
