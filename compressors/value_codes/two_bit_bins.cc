// Writes which of four bins a value is in, and the mean of each bin: two for
// each sign, divided first at the mean magnitude of that sign, and then three
// times halfway between the means of the two, as in Lloyd, "Least squares
// quantization in PCM", IEEE Transactions on Information Theory 28(2), 1982.
// Bins of two bits, one set for each payload: Sarfi et al., "Communication
// Efficient LLM Pre-training with SparseLoCo", arXiv 2508.15706, section 3,
// whose bins are cut by the standard deviation. It is never less exact than
// `onebit`. Biased: needs error feedback.
//
//     values := four means f32, pairs of bits, highest pair first (bit 1: the
//               value is negative; bit 0: it is in the bin of the larger
//               magnitudes); the means are of magnitudes, by pair
#include <algorithm>
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
constexpr int kRounds = 3;

int64_t BinBytes(int64_t count) { return kMeanBytes + kBitPairs.bytes(count); }

// The bins of values, by the magnitude that divides those of each sign.
class Bins {
 public:
  explicit Bins(absl::Span<const float> values) : values_(values) {
    const SidedSums sums =
        AddUp<SidedSums>(values.data(), static_cast<int64_t>(values.size()));
    borders_ = {MeanOfSide(sums, 0), MeanOfSide(sums, 1)};
    FindMeans();
    for (int round = 0; round < kRounds; ++round) {
      for (int side = 0; side < 2; ++side) {
        const float far = means_[2 * side + 1];
        if (far > 0) borders_[side] = 0.5f * means_[2 * side] + 0.5f * far;
      }
      FindMeans();
    }
  }

  int Of(float value) const {
    const int negative = value < 0;
    return 2 * negative + (std::fabs(value) > borders_[negative]);
  }
  // Of the magnitudes in each bin; 0 of an empty one.
  const std::array<float, kBins>& means() const { return means_; }

 private:
  void FindMeans() {
    std::array<double, kBins> sums = {};
    std::array<int64_t, kBins> counts = {};
    for (const float value : values_) {
      const int bin = Of(value);
      sums[bin] += std::fabs(value);
      ++counts[bin];
    }
    for (int bin = 0; bin < kBins; ++bin) {
      means_[bin] = static_cast<float>(
          sums[bin] / static_cast<double>(std::max<int64_t>(counts[bin], 1)));
    }
  }

  const absl::Span<const float> values_;
  std::array<float, 2> borders_;
  std::array<float, kBins> means_;
};

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
    const Bins bins(values);
    std::memcpy(out, bins.means().data(), kMeanBytes);
    const auto take = [values, &bins](int64_t i) {
      const int bin = bins.Of(values[i]);
      values[i] -= bin >= 2 ? -bins.means()[bin] : bins.means()[bin];
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
