// Layouts of level codes: bits computed by hand, expected lengths, invalid
// input.
#include "compressors/value_codes/level_stream.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "common/random.h"
#include "compressors/value_codes/elias.h"
#include "compressors/value_codes/levels.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

using testing::ElementsAre;

constexpr LevelLayout kIntegerLayouts[] = {
    LevelLayout::kGammaSparse, LevelLayout::kGammaDense,
    LevelLayout::kOmegaSparse, LevelLayout::kOmegaDense};

std::vector<uint8_t> Write(LevelLayout layout, const LevelShape& shape,
                           const std::vector<uint8_t>& codes) {
  const auto integer_code =
      layout == LevelLayout::kGammaSparse || layout == LevelLayout::kGammaDense
          ? ValueCodeConfig::ELIAS_GAMMA
          : ValueCodeConfig::ELIAS_OMEGA;
  // The sparse layout may be longer than the smaller one of the two.
  std::vector<uint8_t> bytes(
      2 * MaxLevelBytes(integer_code, shape.bits, codes.size()) + 64);
  bytes.resize(WriteLevels(layout, shape, codes, bytes.data()));
  return bytes;
}

struct Reading {
  std::vector<uint8_t> codes;
  bool at_end = false;
};

Reading Read(LevelLayout layout, const LevelShape& shape,
             const std::vector<uint8_t>& bytes, int64_t count) {
  const PayloadPieces pieces = {absl::MakeConstSpan(bytes)};
  EliasLevelReader reader(
      layout, shape.bits,
      PieceReader(pieces, 0, static_cast<int64_t>(bytes.size())));
  Reading reading;
  reading.codes.resize(count);
  for (int64_t begin = 0; begin < count; begin += shape.bucket_size) {
    const int64_t n = std::min(shape.bucket_size, count - begin);
    reader.StartBucket(n);
    // In two calls.
    reader.Next(absl::MakeSpan(&reading.codes[begin], n / 2));
    reader.Next(absl::MakeSpan(&reading.codes[begin] + n / 2, n - n / 2));
  }
  reading.at_end = reader.AtEnd();
  return reading;
}

LevelShape Shape(int bits, int64_t bucket_size) {
  LevelShape shape;
  shape.bits = bits;
  shape.bucket_size = bucket_size;
  return shape;
}

// Levels 7 and -7 of four bits, two zeros; then a bucket with a -1 only.
const std::vector<uint8_t>& Example() {
  static const auto* const codes =
      new std::vector<uint8_t>{7, 15, 0, 0, 0, 0, 9};
  return *codes;
}

TEST(LevelStreamTest, LayoutsBitByBit) {
  const LevelShape shape = Shape(4, 4);
  // 2 + 1: 011; gap 1, +, 7: 1 0 00111; gap 1, -, 7: 1 1 00111;
  // 1 + 1: 010; gap 3, -, 1: 011 1 1.
  EXPECT_THAT(Write(LevelLayout::kGammaSparse, shape, Example()),
              ElementsAre(0b01110001, 0b11110011, 0b10100111, 0b10000000));
  // 7 + 1, +: 0001000 0; 7 + 1, -; 1, 1; 1, 1; 1 + 1, -: 010 1.
  EXPECT_THAT(Write(LevelLayout::kGammaDense, shape, Example()),
              ElementsAre(0b00010000, 0b00010001, 0b11110101));
  // 110; 0 0 101110; 0 1 101110; 100; 110 1 0: 7 is 10 111 0.
  EXPECT_THAT(Write(LevelLayout::kOmegaSparse, shape, Example()),
              ElementsAre(0b11000101, 0b11001101, 0b11010011, 0b01000000));
  EXPECT_THAT(Write(LevelLayout::kOmegaDense, shape, Example()),
              ElementsAre(0b11100000, 0b11100001, 0b00001001));
}

TEST(LevelStreamTest, EveryLayoutReadsBack) {
  RandomStream random(RandomKey(5));
  for (const int bits : {2, 4, 8}) {
    for (const double zeros : {0.0, 0.3, 0.95, 1.0}) {
      for (const int64_t count : {0, 1, 6, 7, 8, 500}) {
        std::vector<uint8_t> codes(count);
        for (uint8_t& code : codes) {
          const uint64_t level = 1 + random.Below(NumLevels(bits));
          const uint64_t negative = random.Below(2) << (bits - 1);
          if (random.Uniform() >= zeros) {
            code = static_cast<uint8_t>(level | negative);
          }
        }
        for (const int64_t bucket_size : {1, 7, 1000}) {
          for (const LevelLayout layout : kIntegerLayouts) {
            const LevelShape shape = Shape(bits, bucket_size);
            const Reading reading =
                Read(layout, shape, Write(layout, shape, codes), count);
            ASSERT_EQ(reading.codes, codes);
            ASSERT_TRUE(reading.at_end);
          }
        }
      }
    }
  }
}

TEST(LevelStreamTest, TheSmallerLayoutIsTaken) {
  for (const auto integer_code :
       {ValueCodeConfig::ELIAS_GAMMA, ValueCodeConfig::ELIAS_OMEGA}) {
    const bool gamma = integer_code == ValueCodeConfig::ELIAS_GAMMA;
    const LevelLayout sparse =
        gamma ? LevelLayout::kGammaSparse : LevelLayout::kOmegaSparse;
    const LevelLayout dense =
        gamma ? LevelLayout::kGammaDense : LevelLayout::kOmegaDense;
    RandomStream random(RandomKey(6));
    for (int percent = 0; percent <= 100; percent += 4) {
      std::vector<uint8_t> codes(4000);
      for (uint8_t& code : codes) code = random.Below(100) < uint64_t(percent);
      const LevelShape shape = Shape(3, 512);
      const auto sparse_bytes = Write(sparse, shape, codes);
      const auto dense_bytes = Write(dense, shape, codes);
      const LevelLayout taken = SmallestLayout(integer_code, shape, codes);
      ASSERT_TRUE(taken == sparse || taken == dense);
      const auto bytes = taken == sparse ? sparse_bytes : dense_bytes;
      EXPECT_EQ(bytes.size(),
                std::min(sparse_bytes.size(), dense_bytes.size()));
      EXPECT_LE(static_cast<int64_t>(bytes.size()),
                MaxLevelBytes(integer_code, shape.bits, codes.size()));
    }
  }
  EXPECT_EQ(SmallestLayout(ValueCodeConfig::FIXED, Shape(4, 4), Example()),
            LevelLayout::kFixed);
}

TEST(LevelStreamTest, EveryTruncationIsSeen) {
  const LevelShape shape = Shape(4, 4);
  const uint8_t nothing = 8;
  for (const LevelLayout layout : kIntegerLayouts) {
    const std::vector<uint8_t> good = Write(layout, shape, Example());
    for (size_t size = 0; size < good.size(); ++size) {
      const std::vector<uint8_t> cut(good.begin(), good.begin() + size);
      const Reading reading = Read(layout, shape, cut, 7);
      EXPECT_FALSE(reading.at_end);
      EXPECT_EQ(reading.codes.back(), nothing);
    }
    std::vector<uint8_t> longer = good;
    longer.push_back(0);
    EXPECT_FALSE(Read(layout, shape, longer, 7).at_end);
    if (good.back() & 1) continue;  // Full to the last bit.
    longer = good;
    longer.back() |= 1;
    EXPECT_FALSE(Read(layout, shape, longer, 7).at_end);
  }
}

TEST(LevelStreamTest, WhatDoesNotFitItsBucketIsAFault) {
  const uint8_t nothing = 8;
  const auto last = [](LevelLayout layout, std::vector<uint8_t> bytes) {
    bytes.resize(20, 0xff);
    return Read(layout, Shape(4, 4), bytes, 4).codes.back();
  };
  // Five levels for four values.
  EXPECT_EQ(last(LevelLayout::kGammaSparse, {0b00110111}), nothing);
  // One level, at the fifth of four places.
  EXPECT_EQ(last(LevelLayout::kGammaSparse, {0b01000101}), nothing);
  // Two levels, the first at the last place.
  EXPECT_EQ(last(LevelLayout::kGammaSparse, {0b01100100}), nothing);
  // One level, at the first place, with value 8; the highest is 7.
  EXPECT_EQ(last(LevelLayout::kGammaSparse, {0b01010000, 0b10000000}), nothing);
  // 8 + 1 for a level of 8.
  EXPECT_EQ(last(LevelLayout::kGammaDense, {0b00010010}), nothing);
  EXPECT_EQ(last(LevelLayout::kOmegaDense, {0b11100100}), nothing);
  // A valid stream, for comparison.
  EXPECT_EQ(last(LevelLayout::kGammaSparse, {0b01000100, 0b00011111}), 7);
}

// Level codes of buckets of d values of a distribution, rounded with their
// Euclidean norm as scale: uniform levels as QSGD with s, or exponential ones
// as NUQSGD with s, which has s + 1 levels above 0.
struct Rounded {
  LevelShape shape;
  std::vector<uint8_t> codes;
};

Rounded Round(const std::string& law, int64_t d, int s, bool exponential) {
  const int64_t n = std::max<int64_t>(1 << 18, 16 * d);
  const std::vector<float> values = MakeVector(law, n, 8);
  Rounded rounded;
  rounded.shape = Shape(exponential ? 5 : 6, d);
  rounded.codes.resize(n);
  const int sign_bit = 1 << (rounded.shape.bits - 1);
  RandomStream random(RandomKey(7));
  for (int64_t begin = 0; begin < n; begin += d) {
    double sum_squares = 0;
    for (int64_t i = begin; i < begin + d; ++i) {
      sum_squares += double{values[i]} * values[i];
    }
    const float norm = static_cast<float>(std::sqrt(sum_squares));
    for (int64_t i = begin; i < begin + d; ++i) {
      const float r = std::min(std::fabs(values[i]) / norm, 1.0f);
      const float draw = static_cast<float>(random.Below(1 << 24)) * 0x1p-24f;
      const int level = exponential ? ExponentialLevels::Round(r, s + 1, draw)
                                    : UniformLevels::Round(r, s, draw);
      rounded.codes[i] = static_cast<uint8_t>(
          level | (level > 0 && values[i] < 0 ? sign_bit : 0));
    }
  }
  return rounded;
}

double BitsEach(LevelLayout layout, const Rounded& rounded) {
  return 8.0 * Write(layout, rounded.shape, rounded.codes).size() /
         rounded.codes.size();
}

// Excludes the numbers of levels, as the reference figures do.
double BitsEachOfLevels(LevelLayout layout, const Rounded& rounded) {
  const auto integer =
      layout == LevelLayout::kGammaSparse ? EliasGamma : EliasOmega;
  const size_t d = rounded.shape.bucket_size;
  int64_t count_bits = 0;
  for (size_t begin = 0; begin < rounded.codes.size(); begin += d) {
    const auto first = rounded.codes.begin() + begin;
    count_bits +=
        integer(static_cast<uint32_t>(d + 1 - std::count(first, first + d, 0)))
            .length;
  }
  return BitsEach(layout, rounded) -
         static_cast<double>(count_bits) / rounded.codes.size();
}

TEST(LevelStreamLengthTest, GaussianFiguresOfTheSpecification) {
  const struct {
    int64_t d;
    int s;
    double sparse_omega, sparse_gamma, dense_omega;
  } kUniform[] = {{512, 1, 0.391, 0.360, 1.106},
                  {512, 4, 1.034, 0.966, 1.422},
                  {512, 23, 2.78, 2.75, 2.96},
                  {8192, 1, 0.125, 0.124, 1.026},
                  {8192, 7, 0.598, 0.549, 1.186}};
  for (const auto& row : kUniform) {
    SCOPED_TRACE(testing::Message() << "QSGD " << row.d << " " << row.s);
    const Rounded r = Round("gaussian", row.d, row.s, /*exponential=*/false);
    EXPECT_NEAR(
        BitsEachOfLevels(LevelLayout::kOmegaSparse, r) / row.sparse_omega, 1,
        0.02);
    EXPECT_NEAR(
        BitsEachOfLevels(LevelLayout::kGammaSparse, r) / row.sparse_gamma, 1,
        0.02);
    EXPECT_NEAR(BitsEach(LevelLayout::kOmegaDense, r) / row.dense_omega, 1,
                0.02);
  }
  const struct {
    int64_t d;
    int s;
    double sparse_gamma, dense_gamma;
  } kExponential[] = {{512, 4, 2.26, 2.54},   {512, 6, 4.12, 4.18},
                      {8192, 4, 0.970, 1.42}, {8192, 6, 2.27, 2.54},
                      {8192, 7, 3.21, 3.29},  {8192, 8, 4.12, 4.18}};
  for (const auto& row : kExponential) {
    SCOPED_TRACE(testing::Message() << "NUQSGD " << row.d << " " << row.s);
    const Rounded r = Round("gaussian", row.d, row.s, /*exponential=*/true);
    EXPECT_NEAR(
        BitsEachOfLevels(LevelLayout::kGammaSparse, r) / row.sparse_gamma, 1,
        0.02);
    EXPECT_NEAR(BitsEach(LevelLayout::kGammaDense, r) / row.dense_gamma, 1,
                0.02);
  }
}

// An upper bound without the norm's 32 bits. The bounds of the papers drop
// terms that are not small at such sizes.
TEST(LevelStreamLengthTest, StaysBelowTheBound) {
  for (const char* law : {"gaussian", "laplace", "heavy", "constant"}) {
    for (const int64_t d : {512, 8192}) {
      for (const bool exponential : {false, true}) {
        for (const int s : {1, 4, 7}) {
          const Rounded r = Round(law, d, s, exponential);
          const double k = exponential ? std::ldexp(1, s) : s;
          const double highest = exponential ? s + 1 : s;
          const double root = std::sqrt(static_cast<double>(d));
          const double most = k * k + k * root;
          const double zeros = static_cast<double>(
              std::count(r.codes.begin(), r.codes.end(), 0));
          const double share = 1 - zeros / r.codes.size();
          // The bound is on an expectation; many buckets come within a per cent
          // of it.
          EXPECT_LE(share * d, 1.01 * most);
          const double nu = std::min<double>(d, most);
          const double bound =
              1 + 2 * std::log2(d + 1) +
              nu * (3 + 2 * std::log2(d / nu) + 2 * std::log2(highest));
          EXPECT_LE(BitsEach(LevelLayout::kGammaSparse, r) * d, bound)
              << law << " " << d << " " << s;
        }
      }
    }
  }
}

}  // namespace
}  // namespace ps
