#include "compressors/value_codes/level_codec.h"

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/value_codes/fitted_levels.h"
#include "compressors/value_codes/level_decoder.h"
#include "compressors/value_codes/level_stream.h"
#include "compressors/value_codes/levels.h"
#include "compressors/value_codes/variance_bounds.h"
#include "glog/logging.h"

namespace ps {
namespace {

int64_t FloatBytes(int64_t count) {
  return count * static_cast<int64_t>(sizeof(float));
}

int64_t NumBuckets(int64_t count, int64_t bucket_size) {
  return (count + bucket_size - 1) / bucket_size;
}

class LevelCodec final : public ValueCodec {
 public:
  explicit LevelCodec(const LevelCodeTraits& traits) : traits_(traits) {
    if (traits.spacing == LevelSpacing::kFitted) return;
    for (int bits = kMinLevelBits; bits <= kMaxLevelBits; ++bits) {
      const int s = NumLevels(bits);
      std::vector<float> levels(s + 1);
      for (int i = 0; i <= s; ++i) {
        levels[i] = traits.spacing == LevelSpacing::kUniform
                        ? UniformLevels::Value(i, s)
                        : ExponentialLevels::Value(i, s);
      }
      tables_[bits] = MakeLevelTable(bits, levels);
    }
  }

  absl::string_view name() const override { return traits_.name; }
  ValueCode number() const override { return traits_.number; }

  bool RoundsAtRandom() const override { return !traits_.nearest; }

  CodingError Error(const ValueCodeConfig& config) const override {
    CodingError error;
    const int s = NumLevels(Bits(config));
    // Fitting does not increase the loss of the levels that it starts from.
    const float least = traits_.spacing == LevelSpacing::kUniform
                            ? UniformLevels::Value(1, s)
                            : ExponentialLevels::Value(1, s);
    // Rounding to the nearest level loses no more than rounding at random.
    error.variance = traits_.scale == LevelScale::kEuclideanNorm
                         ? WorstVariance(config.bucket_size(), least)
                         : GaussianVariance(config.bucket_size(), least);
    return error;
  }

  int64_t MaxEncodedSize(int64_t count,
                         const ValueCodeConfig& config) const override {
    return BytesBeforeCodes(count, Header(config)) +
           MaxLevelBytes(IntegerCode(config), Bits(config), count);
  }

  int64_t Encode(const ValueWriting& writing, absl::Span<float> values,
                 uint8_t* out) const override {
    LevelHeader header = Header(writing.config);
    const std::vector<float> scales =
        BucketScales(values, header.bucket_size, traits_.scale);
    std::vector<float> levels;  // Fitted levels.
    if (traits_.spacing == LevelSpacing::kFitted) {
      levels = FitLevels(SampleMagnitudes(values, scales, header.bucket_size,
                                          writing.random_key),
                         NumLevels(header.bits));
    }
    LevelRounding rounding;
    rounding.spacing = traits_.spacing;
    rounding.levels = levels;
    rounding.bits = header.bits;
    rounding.bucket_size = header.bucket_size;
    rounding.scales = scales;
    if (RoundsAtRandom()) rounding.random_key = &writing.random_key;
    std::vector<uint8_t> codes(values.size());
    RoundToLevels(rounding, values, absl::MakeSpan(codes));
    LevelShape shape;
    shape.bits = header.bits;
    shape.bucket_size = header.bucket_size;
    header.layout = SmallestLayout(IntegerCode(writing.config), shape, codes);
    uint8_t* next = out;
    const auto append = [&next](const void* data, int64_t bytes) {
      if (bytes > 0) std::memcpy(next, data, bytes);
      next += bytes;
    };
    append(&header, sizeof(header));
    // The levels 0 and 1 are not sent.
    if (!levels.empty()) {
      append(&levels[1], FloatBytes(NumSentLevels(header.bits)));
    }
    append(scales.data(), FloatBytes(scales.size()));
    next += WriteLevels(header.layout, shape, codes, next);
    return next - out;
  }

  absl::StatusOr<std::unique_ptr<ValueDecoder>> NewDecoder(
      const PayloadInfo& info, const PieceReader& bytes) const override {
    PieceReader reader = bytes;
    LevelHeader header;
    if (!reader.Read(&header, sizeof(header))) {
      return absl::InvalidArgumentError(
          absl::StrCat(info.value_bytes, " bytes of values; their header has ",
                       sizeof(header)));
    }
    PS_RETURN_IF_ERROR(CheckHeader(header));
    const int64_t before_codes = BytesBeforeCodes(info.count, header);
    if (header.layout == LevelLayout::kFixed) {
      PS_RETURN_IF_ERROR(CheckValueBytes(
          info, before_codes + MaxLevelBytes(ValueCodeConfig::FIXED,
                                             header.bits, info.count)));
    } else if (info.value_bytes < before_codes) {
      return absl::InvalidArgumentError(
          absl::StrCat(info.count, " values in ", info.value_bytes,
                       " bytes; the scales alone end at ", before_codes));
    }
    LevelTable table = tables_[header.bits];
    if (traits_.spacing == LevelSpacing::kFitted) {
      PS_ASSIGN_OR_RETURN(table, ReadLevels(header.bits, &reader));
    }
    const int64_t scale_bytes =
        FloatBytes(NumBuckets(info.count, header.bucket_size));
    return NewLevelDecoder(
        header, table, reader.Subrange(0, scale_bytes),
        reader.Subrange(scale_bytes, reader.remaining() - scale_bytes),
        info.count);
  }

 private:
  int Bits(const ValueCodeConfig& config) const {
    return traits_.bits == 0 ? config.bits() : traits_.bits;
  }

  ValueCodeConfig::IntegerCode IntegerCode(
      const ValueCodeConfig& config) const {
    return traits_.bits == 0 ? config.integer_code() : ValueCodeConfig::FIXED;
  }

  LevelHeader Header(const ValueCodeConfig& config) const {
    LevelHeader header;
    header.bits = static_cast<uint8_t>(Bits(config));
    header.bucket_size = static_cast<uint32_t>(config.bucket_size());
    return header;
  }

  int64_t NumSentLevels(int bits) const {
    return traits_.spacing == LevelSpacing::kFitted ? NumLevels(bits) - 1 : 0;
  }

  int64_t BytesBeforeCodes(int64_t count, const LevelHeader& header) const {
    return static_cast<int64_t>(sizeof(header)) +
           FloatBytes(NumSentLevels(header.bits) +
                      NumBuckets(count, header.bucket_size));
  }

  absl::Status CheckHeader(const LevelHeader& header) const {
    const bool own_bits = traits_.bits == 0 ? header.bits >= kMinLevelBits &&
                                                  header.bits <= kMaxLevelBits
                                            : header.bits == traits_.bits;
    const uint8_t layout = static_cast<uint8_t>(header.layout);
    const bool own_layout =
        layout <= (traits_.bits == 0 ? kLastLevelLayout : 0);
    if (own_bits && own_layout && header.bucket_size > 0 &&
        header.zero[0] == 0 && header.zero[1] == 0) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat(name(), " of ", header.bits, " bits in layout ", layout,
                     ", ", header.bucket_size, " values a bucket"));
  }

  // Advances `bytes` past the levels; the caller has checked that there are
  // enough.
  absl::StatusOr<LevelTable> ReadLevels(int bits, PieceReader* bytes) const {
    std::vector<float> levels(NumLevels(bits) + 1);
    levels.back() = 1;
    CHECK(bytes->Read(&levels[1], FloatBytes(NumSentLevels(bits))));
    for (size_t i = 1; i < levels.size(); ++i) {
      // This form of the condition rejects NaN too.
      if (!(levels[i - 1] < levels[i])) {
        return absl::InvalidArgumentError(
            absl::StrCat("levels ", levels[i - 1], " and ", levels[i],
                         "; must ascend from 0 to 1"));
      }
    }
    return MakeLevelTable(bits, levels);
  }

  const LevelCodeTraits traits_;
  std::array<LevelTable, kMaxLevelBits + 1> tables_ = {};  // Indexed by bits.
};

}  // namespace

const ValueCodec* NewLevelCodec(const LevelCodeTraits& traits) {
  return new LevelCodec(traits);
}

}  // namespace ps
