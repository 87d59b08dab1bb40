#include "compressors/value_codes/level_codec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "compressors/bit_stream.h"
#include "compressors/value_codes/levels.h"
#include "compressors/value_codes/philox.h"
#include "glog/logging.h"

namespace ps {
namespace {

// Draws made together; a multiple of 4.
constexpr int64_t kBlock = 1024;

struct LevelHeader {
  uint8_t bits = 0;
  uint8_t zero[3] = {0, 0, 0};
  uint32_t bucket_size = 0;
};
static_assert(sizeof(LevelHeader) == 8, "LevelHeader is read as it is");

int64_t NumBuckets(int64_t count, int64_t bucket_size) {
  return (count + bucket_size - 1) / bucket_size;
}

int64_t ScaleBytes(int64_t count, const LevelHeader& header) {
  return NumBuckets(count, header.bucket_size) *
         static_cast<int64_t>(sizeof(float));
}

int64_t LevelBytes(int64_t count, const LevelHeader& header) {
  return static_cast<int64_t>(sizeof(LevelHeader)) + ScaleBytes(count, header) +
         BytesOfBits(count * header.bits);
}

// By code; a NaN for the negative zero, which no writer writes.
using LevelTable = std::array<float, 1 << kMaxLevelBits>;

LevelTable MakeTable(LevelSpacing spacing, int bits) {
  LevelTable table = {};
  const int s = NumLevels(bits);
  for (int level = 0; level <= s; ++level) {
    const float value = spacing == LevelSpacing::kUniform
                            ? UniformLevels::Value(level, s)
                            : ExponentialLevels::Value(level, s);
    table[level] = value;
    table[level | 1 << (bits - 1)] = -value;
  }
  table[1 << (bits - 1)] = std::numeric_limits<float>::quiet_NaN();
  return table;
}

class LevelDecoder final : public ValueDecoder {
 public:
  LevelDecoder(const LevelHeader& header, const LevelTable& table,
               const PieceReader& scales, const PieceReader& codes)
      : header_(header), table_(table), scales_(scales), codes_(codes) {}

  void Next(absl::Span<float> values) override {
    while (!values.empty()) {
      if (left_in_bucket_ == 0) {
        CHECK(scales_.Read(&scale_, sizeof(scale_)));
        // A NaN spreads to all values of the bucket, those of level 0, too.
        if (std::signbit(scale_)) {
          scale_ = std::numeric_limits<float>::quiet_NaN();
        }
        left_in_bucket_ = header_.bucket_size;
      }
      const size_t n = std::min<size_t>(left_in_bucket_, values.size());
      ReadCodes(header_.bits, n, &codes_, [&](size_t i, uint32_t code) {
        values[i] = scale_ * table_[code];
      });
      left_in_bucket_ -= n;
      values.remove_prefix(n);
    }
  }

  absl::Status Finish() override {
    if (codes_.AtEnd()) return absl::OkStatus();
    return absl::InvalidArgumentError("more values than the header says");
  }

 private:
  const LevelHeader header_;
  const LevelTable table_;
  PieceReader scales_;
  BitReader codes_;
  size_t left_in_bucket_ = 0;
  float scale_ = 0;
};

// Rounded to float, as it travels: the magnitudes are taken relative to that.
float EuclideanNorm(absl::Span<const float> values) {
  double sum_squares = 0;  // Of floats, it neither overflows nor underflows.
  for (const float value : values) sum_squares += double{value} * value;
  return static_cast<float>(std::min<double>(
      std::sqrt(sum_squares), std::numeric_limits<float>::max()));
}

float LargestMagnitude(absl::Span<const float> values) {
  float largest = 0;
  for (const float value : values) {
    largest = std::max(largest, std::fabs(value));
  }
  return largest;
}

class LevelCodec final : public ValueCodec {
 public:
  explicit LevelCodec(const LevelCodeTraits& traits) : traits_(traits) {
    for (int bits = kMinLevelBits; bits <= kMaxLevelBits; ++bits) {
      tables_[bits] = MakeTable(traits.spacing, bits);
    }
  }

  absl::string_view name() const override { return traits_.name; }
  ValueCode number() const override { return traits_.number; }

  bool RoundsAtRandom() const override {
    return traits_.rounding == LevelRounding::kAtRandom;
  }

  int64_t EncodedSize(int64_t count,
                      const ValueCodeConfig& config) const override {
    return LevelBytes(count, Header(config));
  }

  void Encode(const ValueWriting& writing, absl::Span<float> values,
              uint8_t* out) const override {
    if (traits_.spacing == LevelSpacing::kUniform) {
      EncodeLevels<UniformLevels>(writing, values, out);
    } else {
      EncodeLevels<ExponentialLevels>(writing, values, out);
    }
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
    const bool bits_known = traits_.bits == 0 ? header.bits >= kMinLevelBits &&
                                                    header.bits <= kMaxLevelBits
                                              : header.bits == traits_.bits;
    if (!bits_known || header.bucket_size == 0 || header.zero[0] != 0 ||
        header.zero[1] != 0 || header.zero[2] != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(name(), " of ", header.bits, " bits, ",
                       header.bucket_size, " values a bucket"));
    }
    PS_RETURN_IF_ERROR(CheckValueBytes(info, LevelBytes(info.count, header)));
    const int64_t scale_bytes = ScaleBytes(info.count, header);
    return std::make_unique<LevelDecoder>(
        header, tables_[header.bits], reader.Subrange(0, scale_bytes),
        reader.Subrange(scale_bytes, reader.remaining() - scale_bytes));
  }

 private:
  LevelHeader Header(const ValueCodeConfig& config) const {
    LevelHeader header;
    header.bits =
        static_cast<uint8_t>(traits_.bits == 0 ? config.bits() : traits_.bits);
    header.bucket_size = static_cast<uint32_t>(config.bucket_size());
    return header;
  }

  template <typename Levels>
  void EncodeLevels(const ValueWriting& writing, absl::Span<float> values,
                    uint8_t* out) const {
    const LevelHeader header = Header(writing.config);
    const int64_t count = static_cast<int64_t>(values.size());
    std::memcpy(out, &header, sizeof(header));
    uint8_t* scales = out + sizeof(header);
    BitWriter writer(scales + ScaleBytes(count, header));
    const int s = NumLevels(header.bits);
    const LevelTable& table = tables_[header.bits];
    DrawSource draws(writing.random_key, RoundsAtRandom());
    for (int64_t begin = 0; begin < count; begin += header.bucket_size) {
      const absl::Span<float> bucket =
          values.subspan(begin, header.bucket_size);
      const float scale = traits_.scale == LevelScale::kEuclideanNorm
                              ? EuclideanNorm(bucket)
                              : LargestMagnitude(bucket);
      std::memcpy(scales, &scale, sizeof(scale));
      scales += sizeof(scale);
      for (float& value : bucket) {
        const float draw = draws.Next();
        // Rounding may have made the norm less than a single magnitude.
        const float r =
            scale > 0 ? std::min(std::fabs(value) / scale, 1.0f) : 0.0f;
        const int level = Levels::Round(r, s, draw);
        const bool negative = value < 0 && level > 0;
        const int code = level | (negative ? 1 << (header.bits - 1) : 0);
        writer.Put(static_cast<uint64_t>(code), header.bits);
        const float decoded = scale * table[code];
        value -= decoded;
      }
    }
    writer.Finish();
  }

  // A draw for each value, or 1/2, which rounds to the nearest level.
  class DrawSource {
   public:
    DrawSource(uint64_t key, bool at_random)
        : uniform_(key), at_random_(at_random) {
      std::fill_n(draws_, kBlock, 0.5f);
    }

    float Next() {
      const int64_t place = next_++ % kBlock;
      if (place == 0 && at_random_) {
        uniform_.Fill(next_ - 1, absl::MakeSpan(draws_));
      }
      return draws_[place];
    }

   private:
    const UniformDraws uniform_;
    const bool at_random_;
    int64_t next_ = 0;
    float draws_[kBlock];
  };

  const LevelCodeTraits traits_;
  std::array<LevelTable, kMaxLevelBits + 1> tables_;  // By bits.
};

}  // namespace

const ValueCodec* NewLevelCodec(const LevelCodeTraits& traits) {
  return new LevelCodec(traits);
}

}  // namespace ps
