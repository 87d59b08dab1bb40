#include "compressors/value_codes/level_stream.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "compressors/payload/bit_stream.h"
#include "compressors/value_codes/elias.h"

namespace ps {
namespace {

bool IsOmega(LevelLayout layout) {
  return layout == LevelLayout::kOmegaSparse ||
         layout == LevelLayout::kOmegaDense;
}

bool IsSparse(LevelLayout layout) {
  return layout == LevelLayout::kGammaSparse ||
         layout == LevelLayout::kOmegaSparse;
}

// Returns the integer code of k, at least 1.
BitString EliasInteger(bool omega, uint32_t k) {
  return omega ? EliasOmega(k) : EliasGamma(k);
}

// Returns the bits that a layout writes for a level code of `bits` bits; a
// negative 0 is invalid. The sparse layout writes this after the gap, for
// levels above 0 only.
BitString SparseLevel(bool omega, int bits, uint32_t code) {
  const uint32_t level = code & static_cast<uint32_t>(NumLevels(bits));
  return Concatenate({code >> (bits - 1), 1}, EliasInteger(omega, level));
}

BitString DenseLevel(bool omega, int bits, uint32_t code) {
  if (code == 0) return EliasInteger(omega, 1);
  const uint32_t level = code & static_cast<uint32_t>(NumLevels(bits));
  return Concatenate(EliasInteger(omega, level + 1), {code >> (bits - 1), 1});
}

// The layout's bits for each code; empty for the invalid negative 0.
using CodeStrings = std::array<BitString, 1 << kMaxLevelBits>;

CodeStrings StringsOf(bool omega, bool sparse, int bits) {
  const uint32_t sign_bit = uint32_t{1} << (bits - 1);
  CodeStrings strings = {};
  for (uint32_t code = 0; code < 2 * sign_bit; ++code) {
    if (sparse && code == 0) continue;  // A zero is part of a gap.
    if (code == sign_bit) continue;
    strings[code] =
        sparse ? SparseLevel(omega, bits, code) : DenseLevel(omega, bits, code);
  }
  return strings;
}

// Calls count(n) at the start of each bucket, where n is the number of its
// codes that are not 0, then element(gap, code) for each of those.
template <typename Count, typename Element>
void ForEachLevel(int64_t bucket_size, absl::Span<const uint8_t> codes,
                  Count count, Element element) {
  for (size_t begin = 0; begin < codes.size(); begin += bucket_size) {
    const absl::Span<const uint8_t> bucket = codes.subspan(begin, bucket_size);
    count(static_cast<uint32_t>(
        bucket.end() - bucket.begin() -
        std::count(bucket.begin(), bucket.end(), uint8_t{0})));
    size_t next = 0;
    for (size_t i = 0; i < bucket.size(); ++i) {
      if (bucket[i] == 0) continue;
      element(static_cast<uint32_t>(i + 1 - next), bucket[i]);
      next = i + 1;
    }
  }
}

int64_t SparseBits(bool omega, const LevelShape& shape,
                   absl::Span<const uint8_t> codes) {
  const CodeStrings strings = StringsOf(omega, /*sparse=*/true, shape.bits);
  int64_t bits = 0;
  ForEachLevel(
      shape.bucket_size, codes,
      [&](uint32_t count) { bits += EliasInteger(omega, count + 1).length; },
      [&](uint32_t gap, uint8_t code) {
        bits += EliasInteger(omega, gap).length + strings[code].length;
      });
  return bits;
}

int64_t DenseBits(bool omega, const LevelShape& shape,
                  absl::Span<const uint8_t> codes) {
  const CodeStrings strings = StringsOf(omega, /*sparse=*/false, shape.bits);
  int64_t bits = 0;
  for (const uint8_t code : codes) bits += strings[code].length;
  return bits;
}

int64_t WriteFixed(int bits, absl::Span<const uint8_t> codes, uint8_t* out) {
  const int64_t count = static_cast<int64_t>(codes.size());
  const int64_t bytes = BytesOfBits(count * bits);
  // Eight codes fill `bits` bytes; the rest of the word is overwritten later.
  int64_t i = 0;
  int64_t at = 0;
  for (; i + 8 <= count && at + 8 <= bytes; i += 8, at += bits) {
    uint64_t word = 0;
    for (int j = 0; j < 8; ++j) word |= uint64_t{codes[i + j]} << (j * bits);
    std::memcpy(out + at, &word, sizeof(word));
  }
  BitWriter writer(out + at);
  for (; i < count; ++i) writer.Put(codes[i], bits);
  writer.Finish();
  return bytes;
}

}  // namespace

int64_t MaxLevelBytes(ValueCodeConfig::IntegerCode integer_code, int bits,
                      int64_t count) {
  if (integer_code == ValueCodeConfig::FIXED) return BytesOfBits(count * bits);
  // The smaller layout is no longer than the dense one, whose longest code is
  // that of the highest level.
  const bool omega = integer_code == ValueCodeConfig::ELIAS_OMEGA;
  const uint32_t highest = static_cast<uint32_t>(NumLevels(bits));
  return BytesOfBits(count * DenseLevel(omega, bits, highest).length);
}

LevelLayout SmallestLayout(ValueCodeConfig::IntegerCode integer_code,
                           const LevelShape& shape,
                           absl::Span<const uint8_t> codes) {
  if (integer_code == ValueCodeConfig::FIXED) return LevelLayout::kFixed;
  const bool omega = integer_code == ValueCodeConfig::ELIAS_OMEGA;
  if (SparseBits(omega, shape, codes) < DenseBits(omega, shape, codes)) {
    return omega ? LevelLayout::kOmegaSparse : LevelLayout::kGammaSparse;
  }
  return omega ? LevelLayout::kOmegaDense : LevelLayout::kGammaDense;
}

int64_t WriteLevels(LevelLayout layout, const LevelShape& shape,
                    absl::Span<const uint8_t> codes, uint8_t* out) {
  if (layout == LevelLayout::kFixed) return WriteFixed(shape.bits, codes, out);
  const bool omega = IsOmega(layout);
  const CodeStrings strings = StringsOf(omega, IsSparse(layout), shape.bits);
  HighBitWriter writer(out);
  if (IsSparse(layout)) {
    ForEachLevel(
        shape.bucket_size, codes,
        [&](uint32_t count) { writer.Put(EliasInteger(omega, count + 1)); },
        [&](uint32_t gap, uint8_t code) {
          writer.Put(EliasInteger(omega, gap));
          writer.Put(strings[code]);
        });
  } else {
    for (const uint8_t code : codes) writer.Put(strings[code]);
  }
  return writer.Finish() - out;
}

EliasLevelReader::EliasLevelReader(LevelLayout layout, int bits,
                                   const PieceReader& bytes)
    : omega_(IsOmega(layout)),
      sparse_(IsSparse(layout)),
      sign_bit_(uint32_t{1} << (bits - 1)),
      reader_(bytes) {}

void EliasLevelReader::StartBucket(int64_t size) {
  if (!sparse_) return;
  left_ = size;
  levels_left_ = int64_t{ReadInteger()} - 1;
  fault_ |= levels_left_ < 0 || levels_left_ > left_;
  ReadGap();
}

void EliasLevelReader::Next(absl::Span<uint8_t> codes) {
  if (sparse_) {
    NextSparse(codes);
  } else {
    NextDense(codes);
  }
}

bool EliasLevelReader::AtEnd() { return !fault_ && reader_.AtEnd(); }

void EliasLevelReader::NextDense(absl::Span<uint8_t> codes) {
  for (uint8_t& code : codes) {
    const uint32_t integer = ReadInteger();
    // 0, which is not a valid integer, wraps around to a level out of range.
    const uint32_t level = integer - 1;
    const uint32_t negative = level == 0 ? 0 : reader_.Read(1);
    fault_ |= level >= sign_bit_ || reader_.past_end();
    code =
        static_cast<uint8_t>(fault_ ? sign_bit_ : level | negative * sign_bit_);
  }
}

void EliasLevelReader::NextSparse(absl::Span<uint8_t> codes) {
  while (!codes.empty()) {
    if (fault_) {
      std::fill(codes.begin(), codes.end(), static_cast<uint8_t>(sign_bit_));
      return;
    }
    const size_t zeros =
        std::min(codes.size(), static_cast<size_t>(zeros_left_));
    std::fill_n(codes.begin(), zeros, uint8_t{0});
    zeros_left_ -= zeros;
    left_ -= zeros;
    codes.remove_prefix(zeros);
    if (codes.empty()) return;
    const uint32_t negative = reader_.Read(1);
    const uint32_t level = ReadInteger();
    fault_ |= level == 0 || level >= sign_bit_;
    if (fault_) continue;
    codes[0] = static_cast<uint8_t>(level | negative * sign_bit_);
    codes.remove_prefix(1);
    --left_;
    --levels_left_;
    ReadGap();
  }
}

void EliasLevelReader::ReadGap() {
  if (fault_) return;
  if (levels_left_ == 0) {
    zeros_left_ = left_;
    return;
  }
  zeros_left_ = int64_t{ReadInteger()} - 1;
  // Each of the remaining levels needs a place.
  fault_ |= zeros_left_ < 0 || zeros_left_ + levels_left_ > left_;
}

uint32_t EliasLevelReader::ReadInteger() {
  return omega_ ? ReadEliasOmega(&reader_) : ReadEliasGamma(&reader_);
}

}  // namespace ps
