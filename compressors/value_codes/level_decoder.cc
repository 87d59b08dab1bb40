#include "compressors/value_codes/level_decoder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compressors/payload/bit_stream.h"
#include "glog/logging.h"

namespace ps {
namespace {

// Reads level codes of a fixed number of bits.
class FixedLevelReader {
 public:
  FixedLevelReader(const LevelHeader& header, const PieceReader& bytes)
      : bits_(header.bits), reader_(bytes) {}

  void StartBucket(int64_t) {}

  void Decode(const LevelTable& table, float scale, absl::Span<float> values) {
    ReadCodes(bits_, values.size(), &reader_, [&](size_t i, uint32_t code) {
      values[i] = scale * table[code];
    });
  }

  bool AtEnd() { return reader_.AtEnd(); }

 private:
  const int bits_;
  BitReader reader_;
};

class IntegerLevelReader {
 public:
  IntegerLevelReader(const LevelHeader& header, const PieceReader& bytes)
      : reader_(header.layout, header.bits, bytes) {}

  void StartBucket(int64_t size) { reader_.StartBucket(size); }

  void Decode(const LevelTable& table, float scale, absl::Span<float> values) {
    constexpr size_t kBlock = 1024;  // Stays in the L1 cache.
    uint8_t codes[kBlock];
    while (!values.empty()) {
      const size_t n = std::min(kBlock, values.size());
      reader_.Next(absl::MakeSpan(codes, n));
      for (size_t i = 0; i < n; ++i) values[i] = scale * table[codes[i]];
      values.remove_prefix(n);
    }
  }

  bool AtEnd() { return reader_.AtEnd(); }

 private:
  EliasLevelReader reader_;
};

template <typename Reader>
class LevelDecoder final : public ValueDecoder {
 public:
  LevelDecoder(const LevelHeader& header, const LevelTable& table,
               const PieceReader& scales, const PieceReader& codes,
               int64_t count)
      : bucket_size_(header.bucket_size),
        table_(table),
        left_(count),
        scales_(scales),
        reader_(header, codes) {}

  void Next(absl::Span<float> values) override {
    while (!values.empty()) {
      if (left_in_bucket_ == 0) StartBucket();
      const int64_t n = std::min<int64_t>(left_in_bucket_, values.size());
      reader_.Decode(table_, scale_, values.subspan(0, n));
      left_in_bucket_ -= n;
      values.remove_prefix(n);
    }
  }

  absl::Status Finish() override {
    if (reader_.AtEnd()) return absl::OkStatus();
    return absl::InvalidArgumentError("more values than the header says");
  }

 private:
  void StartBucket() {
    CHECK(scales_.Read(&scale_, sizeof(scale_)));
    // A NaN spreads to all values of the bucket, including those of level 0.
    if (std::signbit(scale_)) {
      scale_ = std::numeric_limits<float>::quiet_NaN();
    }
    left_in_bucket_ = std::min(bucket_size_, left_);
    left_ -= left_in_bucket_;
    reader_.StartBucket(left_in_bucket_);
  }

  const int64_t bucket_size_;
  const LevelTable table_;
  int64_t left_;  // The number of values in the buckets that follow.
  PieceReader scales_;
  Reader reader_;
  int64_t left_in_bucket_ = 0;
  float scale_ = 0;
};

}  // namespace

LevelTable MakeLevelTable(int bits, absl::Span<const float> levels) {
  LevelTable table = {};
  const size_t sign_bit = size_t{1} << (bits - 1);
  CHECK_EQ(levels.size(), sign_bit);
  for (size_t level = 0; level < sign_bit; ++level) {
    table[level] = levels[level];
    table[level | sign_bit] = -levels[level];
  }
  table[sign_bit] = std::numeric_limits<float>::quiet_NaN();
  return table;
}

std::unique_ptr<ValueDecoder> NewLevelDecoder(const LevelHeader& header,
                                              const LevelTable& table,
                                              const PieceReader& scales,
                                              const PieceReader& codes,
                                              int64_t count) {
  if (header.layout == LevelLayout::kFixed) {
    return std::make_unique<LevelDecoder<FixedLevelReader>>(
        header, table, scales, codes, count);
  }
  return std::make_unique<LevelDecoder<IntegerLevelReader>>(
      header, table, scales, codes, count);
}

}  // namespace ps
