// Behaviour specific to each value code: bytes, rounding, invalid input.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compressors/value_codes/value_coding.h"
#include "tests/compressors/vectors.h"

namespace ps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Hex(const CodedValues& coded) {
  return absl::BytesToHexString(coded.value_bytes());
}

TEST(HalfFloatTest, EveryCodeIsItsOwnNearest) {
  for (const char* code : {"fp16", "bf16"}) {
    const uint32_t infinity = std::string(code) == "fp16" ? 0x7c00 : 0x7f80;
    for (uint32_t sign : {0u, 0x8000u}) {
      for (uint32_t c = 0; c < infinity; ++c) {
        const uint16_t bits = static_cast<uint16_t>(sign | c);
        std::string payload = Code(ValueCodes(code), {1.0f}).payload;
        std::memcpy(&payload[32], &bits, sizeof(bits));
        float value = 0;
        DecodeDensePayload({{reinterpret_cast<const uint8_t*>(payload.data()),
                             payload.size()}},
                           {&value, 1});
        const CodedValues again = Code(ValueCodes(code), {value});
        ASSERT_EQ(again.payload, payload) << code << " " << c;
        ASSERT_EQ(again.lost[0], 0);
      }
    }
  }
}

TEST(HalfFloatTest, RoundsToNearestEven) {
  const auto fp16 = [](float x) {
    return Code(ValueCodes("fp16"), {x}).decoded[0];
  };
  EXPECT_EQ(fp16(1 + 0x1p-11f), 1.0f);
  EXPECT_EQ(fp16(1 + 0x1.8p-11f), 1 + 0x1p-10f);
  EXPECT_EQ(fp16(1 + 0x3p-11f), 1 + 0x2p-10f);
  EXPECT_EQ(fp16(-1 - 0x3p-11f), -1 - 0x2p-10f);
  EXPECT_EQ(fp16(0x1p-25f), 0);
  EXPECT_EQ(fp16(0x1.000002p-25f), 0x1p-24f);
  EXPECT_EQ(fp16(0x3p-25f), 0x2p-24f);
  EXPECT_EQ(fp16(0x1.ffep-15f + 0x1p-26f), 0x1p-14f) << "carries to normal";
  EXPECT_EQ(fp16(65519.996f), 65504.0f);
  EXPECT_EQ(fp16(65520.0f), 65504.0f);
  EXPECT_EQ(fp16(-3e38f), -65504.0f);
  const auto bf16 = [](float x) {
    return Code(ValueCodes("bf16"), {x}).decoded[0];
  };
  EXPECT_EQ(bf16(1 + 0x1p-8f), 1.0f);
  EXPECT_EQ(bf16(1 + 0x1.02p-8f), 1 + 0x1p-7f);
  EXPECT_EQ(bf16(1 + 0x3p-8f), 1 + 0x2p-7f);
  EXPECT_EQ(bf16(std::numeric_limits<float>::max()), 0x1.fep127f);
}

TEST(HalfFloatTest, ErrorIsAtMostHalfAUnit) {
  RandomStream random(RandomKey(3));
  std::vector<float> values(20000);
  for (float& each : values) {
    each = static_cast<float>(std::ldexp(
        random.Uniform(-1, 1), static_cast<int>(random.Below(28)) - 13));
  }
  const CodedValues fp16 = Code(ValueCodes("fp16"), values);
  const CodedValues bf16 = Code(ValueCodes("bf16"), values);
  for (size_t i = 0; i < values.size(); ++i) {
    const float magnitude = std::fabs(values[i]);
    ASSERT_LE(std::fabs(fp16.lost[i]),
              std::max(0x1p-11f * magnitude, 0x1p-25f));
    ASSERT_LE(std::fabs(bf16.lost[i]), 0x1p-8f * magnitude);
    ASSERT_EQ(fp16.decoded[i] + fp16.lost[i], values[i]);
    ASSERT_EQ(bf16.decoded[i] + bf16.lost[i], values[i]);
  }
}

TEST(ValueBytesTest, ExamplesAreThoseOfTheDocument) {
  const std::vector<float> v = {1.5f, -2.0f, 0.25f};
  EXPECT_EQ(Hex(Code(ValueCodes("fp16"), v)), "003e00c00034");
  EXPECT_EQ(Hex(Code(ValueCodes("bf16"), v)), "c03f00c0803e");
  // The mean magnitude is 1.25; the second value is negative.
  EXPECT_EQ(Hex(Code(ValueCodes("sign"), v)), "0000a03f02");
  EXPECT_EQ(Hex(Code(ValueCodes("onebit"), v)), "0000603f0000004002");
  EXPECT_EQ(Hex(Code(ValueCodes("two_bit_threshold"), v)), "0000003fe0");
  EXPECT_EQ(Hex(Code(ValueCodes("two_bit_bins"), v)),
            "0000803e0000c03f"
            "0000004000000000"
            "60");
  EXPECT_EQ(Hex(Code(ValueCodes("int8_block"), v)),
            "0800000000020000"
            "000000405fff10");
}

TEST(ValueBytesTest, LevelsOfPowersOfTwoNeedNoDraws) {
  // Levels 1/64 to 1, times 4, the norm of the bucket's one value.
  PayloadCodes codes = ValueCodes("nuqsgd");
  codes.value_config.set_bucket_size(1);
  EXPECT_EQ(Hex(Code(codes, {4, -4, 0})),
            "04000000"
            "01000000"
            "0000804000008040"
            "00000000"
            "f700");
  // Exponents 127 and 128 in nine bits, the second with its sign.
  EXPECT_EQ(Hex(Code(ValueCodes("natural"), {1, -2})), "7f0003");
}

TEST(TwoBitThresholdTest, ExampleOfMxnet) {
  const CodedValues coded =
      Code(ValueCodes("two_bit_threshold"), {0.6f, -0.5f, 0.4f, 1.7f, -3.0f});
  EXPECT_EQ(Hex(coded), "0000003fe380");
  EXPECT_THAT(coded.decoded, ElementsAre(0.5f, -0.5f, 0, 0.5f, -0.5f));
  EXPECT_THAT(coded.lost,
              ElementsAre(0.6f - 0.5f, 0, 0.4f, 1.7f - 0.5f, -2.5f));
}

// Each bin's error is the distance from its mean. The least errors of four
// levels are those of Max, "Quantizing for minimum distortion", IRE
// Transactions on Information Theory 6(1), 1960, and for Laplace's law.
TEST(TwoBitBinsTest, SendsTheMeansOfItsBins) {
  const CodedValues coded =
      Code(ValueCodes("two_bit_bins"), {1, 2, 9, -4, -4, 0, -0.0f, -10});
  EXPECT_THAT(coded.decoded,
              ElementsAre(0.75f, 0.75f, 9, -4, -4, 0.75f, 0.75f, -10));
  EXPECT_THAT(coded.lost,
              ElementsAre(0.25f, 1.25f, 0, 0, 0, -0.75f, -0.75f, 0));
  constexpr int64_t kSize = 300000;
  const std::pair<const char*, double> kLeft[] = {{"gaussian", 0.1175},
                                                  {"laplace", 0.1765}};
  for (const auto& [law, left] : kLeft) {
    const std::vector<float> v = MakeVector(law, kSize, 4);
    const std::vector<float> zeros(kSize, 0);
    const auto error = [&v, &zeros](const char* code) {
      return SquaredDistance(Code(ValueCodes(code), v).decoded, v) /
             SquaredDistance(v, zeros);
    };
    EXPECT_NEAR(error("two_bit_bins"), left, 0.005) << law;
    EXPECT_LT(error("two_bit_bins"), 0.5 * error("onebit")) << law;
  }
}

TEST(TernaryBytesTest, FiveDigitsAByte) {
  // With equal magnitudes each is sent: 2 x 1 + 1 x 3 + 1 x 9 + 2 x 27 + 1 x
  // 81.
  const CodedValues coded = Code(ValueCodes("ternary"), {-3, 3, 3, -3, 3, -3});
  EXPECT_EQ(Hex(coded), "000040409502");
  EXPECT_THAT(coded.decoded, ElementsAre(-3, 3, 3, -3, 3, -3));
}

TEST(ValueBytesTest, IntegerCodesAreThoseOfTheDocument) {
  PayloadCodes codes = ValueCodes("qsgdinf");
  codes.value_config.set_integer_code(ValueCodeConfig::ELIAS_GAMMA);
  const CodedValues coded = Code(codes, {2, -2, 0, 0});
  EXPECT_EQ(Hex(coded),
            "0401000000020000"
            "00000040"
            "71f380");
  EXPECT_THAT(coded.decoded, ElementsAre(2, -2, 0, 0));
  EXPECT_EQ(Hex(Code(ValueCodes("natural_dithering"), {4, -2, 0})),
            "0400000000020000"
            "00008040"
            "e700");
}

TEST(ValueBytesTest, FittedLevelsTravelWithTheValues) {
  // Nine ones relative to their norm of 3: the upper level moves to them; the
  // lower one stays, since nothing lies below it. A value on a level needs no
  // draw.
  PayloadCodes codes = ValueCodes("alq");
  codes.value_config.set_bits(3);
  const std::vector<float> ones = {1, -1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(Hex(Code(codes, ones)),
            "0300000000020000"
            "0000803eabaaaa3e"
            "00004040"
            "b2244902");
  EXPECT_EQ(Code(codes, ones).decoded, ones);
}

TEST(SignTest, VotesAreOneEach) {
  PayloadCodes codes = ValueCodes("sign");
  codes.value_config.set_sign_scale(ValueCodeConfig::ONE);
  const CodedValues coded = Code(codes, {1.5f, -2.0f, 0.0f});
  EXPECT_EQ(Hex(coded), "0000803f02");
  EXPECT_THAT(coded.decoded, ElementsAre(1, -1, 1));
  EXPECT_THAT(coded.lost, ElementsAre(0.5f, -1, -1));
}

TEST(SignTest, ErrorIsThatOfTheMeanMagnitude) {
  for (const char* law : {"gaussian", "laplace", "sparse"}) {
    const std::vector<float> v = MakeVector(law, 10007, 4);
    double l1 = 0;
    double l2 = 0;
    for (const float each : v) {
      l1 += std::fabs(each);
      l2 += double{each} * each;
    }
    const double error =
        SquaredDistance(Code(ValueCodes("sign"), v).decoded, v) / l2;
    EXPECT_NEAR(error, 1 - l1 * l1 / (v.size() * l2), 1e-6);
    EXPECT_LE(SquaredDistance(Code(ValueCodes("onebit"), v).decoded, v) / l2,
              error + 1e-9);
  }
}

TEST(OneBitTest, AnEmptySideHasMeanZero) {
  EXPECT_THAT(Code(ValueCodes("onebit"), {1, 3}).decoded, ElementsAre(2, 2));
  EXPECT_THAT(Code(ValueCodes("onebit"), {-1, -3}).decoded,
              ElementsAre(-2, -2));
}

TEST(Int8BlockTest, ErrorIsThatOfTheSpecification) {
  const struct {
    const char* law;
    int64_t block;
    double error;
  } kCases[] = {{"gaussian", 64, 3.5e-5},   {"gaussian", 256, 4.8e-5},
                {"gaussian", 2048, 6.9e-5}, {"laplace", 64, 6.1e-5},
                {"laplace", 256, 1.0e-4},   {"laplace", 2048, 1.8e-4}};
  for (const auto& c : kCases) {
    const std::vector<float> v = MakeVector(c.law, 300 * 2048, 4);
    PayloadCodes codes = ValueCodes("int8_block");
    codes.value_config.set_bucket_size(c.block);
    const double error = SquaredDistance(Code(codes, v).decoded, v) /
                         SquaredDistance(v, std::vector<float>(v.size(), 0));
    EXPECT_NEAR(error, c.error, 0.05 * c.error) << c.law << c.block;
  }
}

TEST(ValueBytesTest, SizesAreThoseOfTheirFormulas) {
  for (const int64_t n : {0, 1, 7, 8, 9, 100, 512, 513, 10001}) {
    const std::vector<float> v = MakeVector("gaussian", n, 4);
    const auto size = [&v](const PayloadCodes& codes) {
      return static_cast<int64_t>(Code(codes, v).value_bytes().size());
    };
    EXPECT_EQ(size(ValueCodes("fp16")), 2 * n);
    EXPECT_EQ(size(ValueCodes("bf16")), 2 * n);
    EXPECT_EQ(size(ValueCodes("sign")), 4 + (n + 7) / 8);
    EXPECT_EQ(size(ValueCodes("onebit")), 8 + (n + 7) / 8);
    EXPECT_EQ(size(ValueCodes("two_bit_threshold")), 4 + (n + 3) / 4);
    EXPECT_EQ(size(ValueCodes("two_bit_bins")), 16 + (n + 3) / 4);
    EXPECT_EQ(size(ValueCodes("ternary")), 4 + (n + 4) / 5);
    EXPECT_EQ(size(ValueCodes("natural")), (9 * n + 7) / 8);
    for (const char* code :
         {"qsgd", "qsgdinf", "nuqsgd", "natural_dithering"}) {
      for (const int bits : {2, 3, 8}) {
        PayloadCodes codes = ValueCodes(code);
        codes.value_config.set_bits(bits);
        EXPECT_EQ(size(codes), 8 + 4 * ((n + 511) / 512) + (bits * n + 7) / 8);
      }
    }
  }
}

// On the heap at its exact size, so that a sanitizer sees reads past the end.
std::string Error(const std::string& payload, int64_t dense_size) {
  const std::vector<uint8_t> exact(payload.begin(), payload.end());
  const auto info = ValidatePayload({absl::MakeConstSpan(exact)}, dense_size);
  return info.ok() ? "accepted" : std::string(info.status().message());
}

std::string WithByte(std::string payload, size_t offset, int byte) {
  payload[offset] = static_cast<char>(byte);
  return payload;
}

TEST(ValueFaultsTest, AreNamed) {
  const auto payload = [](const char* code) {
    return Code(ValueCodes(code), {1.5f, -2.0f, 0.0f}).payload;
  };
  // The highest byte of a scale at 32: negative, and infinite or NaN.
  for (const char* code :
       {"sign", "onebit", "ternary", "two_bit_threshold", "two_bit_bins"}) {
    EXPECT_THAT(Error(WithByte(payload(code), 35, 0xbf), 3),
                HasSubstr("a scale is"));
    EXPECT_THAT(Error(WithByte(WithByte(payload(code), 35, 0x7f), 34, 0x80), 3),
                HasSubstr("a scale is"));
  }
  EXPECT_THAT(Error(WithByte(payload("sign"), 36, 0x0a), 3),
              HasSubstr("more values"));
  EXPECT_THAT(Error(WithByte(payload("ternary"), 36, 27), 3),
              HasSubstr("more values"));
  EXPECT_THAT(Error(WithByte(payload("ternary"), 36, 243), 3),
              HasSubstr("not finite"));
  EXPECT_THAT(Error(WithByte(payload("two_bit_threshold"), 36, 0xe2), 3),
              HasSubstr("more values"));
  EXPECT_THAT(Error(WithByte(payload("two_bit_threshold"), 36, 0xd0), 3),
              HasSubstr("not finite"));
  EXPECT_THAT(Error(WithByte(payload("two_bit_bins"), 48, 0x61), 3),
              HasSubstr("more values"));
  EXPECT_THAT(Error(WithByte(payload("fp16"), 33, 0x7c), 3),
              HasSubstr("not finite"));
  EXPECT_THAT(Error(WithByte(payload("bf16"), 33, 0x7f), 3),
              HasSubstr("not finite"));
  // 27 bits; the highest five bits of the last byte are padding.
  const std::string natural = payload("natural");
  EXPECT_THAT(Error(WithByte(natural, 35, natural[35] | 0x08), 3),
              HasSubstr("more values"));
  EXPECT_THAT(Error(WithByte(natural, 35, natural[35] | 0x04), 3),
              HasSubstr("not finite"))
      << "a negative zero";
  EXPECT_THAT(Error(WithByte(natural, 32, 0xff), 3), HasSubstr("not finite"));

  for (const char* code : {"qsgd", "qsgdinf", "nuqsgd", "int8_block"}) {
    const std::string good = payload(code);
    EXPECT_THAT(Error(WithByte(good, 32, 1), 3), HasSubstr("of 1 bits"));
    EXPECT_THAT(Error(WithByte(good, 32, 9), 3), HasSubstr("of 9 bits"));
    EXPECT_THAT(Error(WithByte(good, 33, 5), 3), HasSubstr("layout 5"));
    EXPECT_THAT(Error(WithByte(good, 34, 1), 3), HasSubstr("bits"));
    EXPECT_THAT(Error(WithByte(good, 37, 0), 3),
                HasSubstr("0 values a bucket"));
    EXPECT_THAT(Error(WithByte(WithByte(good, 37, 0), 36, 1), 3),
                HasSubstr("3 values in"));
    EXPECT_THAT(Error(WithByte(good, 43, 0xc0), 3), HasSubstr("not finite"));
    EXPECT_THAT(Error(WithByte(WithByte(good, 43, 0x7f), 42, 0x80), 3),
                HasSubstr("not finite"));
  }
  EXPECT_THAT(Error(WithByte(payload("int8_block"), 33, 1), 3),
              HasSubstr("layout 1"));
  // The levels of `alq` start at 40: six of four bytes.
  const std::string alq = payload("alq");
  EXPECT_THAT(Error(WithByte(alq, 43, 0x40), 3), HasSubstr("must ascend"));
  EXPECT_THAT(Error(WithByte(alq, 43, 0xbf), 3), HasSubstr("must ascend"));
  EXPECT_THAT(Error(WithByte(WithByte(alq, 43, 0x7f), 42, 0xc0), 3),
              HasSubstr("must ascend"));
  EXPECT_THAT(Error(WithByte(alq, 63, 0x40), 3), HasSubstr("must ascend"));
  EXPECT_THAT(Error(WithByte(alq, 67, 0xc0), 3), HasSubstr("not finite"));
  const std::string qsgdinf = payload("qsgdinf");  // 12 bits of codes.
  EXPECT_THAT(Error(WithByte(qsgdinf, 45, 0x10), 3), HasSubstr("more values"));
  EXPECT_THAT(Error(WithByte(qsgdinf, 45, 0x08), 3), HasSubstr("not finite"));
}

class EveryValueCodeTest : public testing::TestWithParam<std::string> {};

TEST_P(EveryValueCodeTest, ReadsPiecesCutAnywhere) {
  PayloadCodes codes = FindValueCoding(GetParam()).codes;
  codes.value_config.set_bucket_size(7);
  const CodedValues coded = Code(codes, MakeVector("laplace", 61, 6), 4);
  const std::vector<uint8_t> bytes(coded.payload.begin(), coded.payload.end());
  const absl::Span<const uint8_t> all = bytes;
  std::vector<float> expected(61, 0.5f);
  for (size_t i = 0; i < expected.size(); ++i) expected[i] += coded.decoded[i];
  const auto check = [&](const PayloadPieces& pieces) {
    const auto info = ValidatePayload(pieces, 61);
    ASSERT_TRUE(info.ok()) << info.status();
    std::vector<float> decoded(61);
    DecodeDensePayload(pieces, absl::MakeSpan(decoded));
    ASSERT_EQ(decoded, coded.decoded);
    std::vector<float> sum(61, 0.5f);
    AddPayload(pieces, sum.data());
    ASSERT_EQ(sum, expected);
  };
  for (size_t a = 0; a <= bytes.size(); ++a) {
    for (size_t b = a; b <= bytes.size(); ++b) {
      check({all.subspan(0, a), all.subspan(a, b - a), all.subspan(b)});
    }
  }
  PayloadPieces single;
  for (size_t i = 0; i < bytes.size(); ++i) single.push_back(all.subspan(i, 1));
  check(single);
}

TEST_P(EveryValueCodeTest, NoDamageCrashesOrPassesUnsound) {
  constexpr int64_t kSize = 61;
  PayloadCodes codes = FindValueCoding(GetParam()).codes;
  codes.value_config.set_bucket_size(7);
  const std::string good =
      Code(codes, MakeVector("laplace", kSize, 6), 4).payload;
  const auto check = [](const std::string& payload) {
    const std::vector<uint8_t> exact(payload.begin(), payload.end());
    const PayloadPieces pieces = {absl::MakeConstSpan(exact)};
    if (!ValidatePayload(pieces, kSize).ok()) return false;
    std::vector<uint32_t> indices;
    std::vector<float> values;
    DecodePayload(pieces, &indices, &values);
    for (const float value : values) EXPECT_TRUE(std::isfinite(value));
    std::vector<float> sum(kSize, 0.0f);
    AddPayload(pieces, sum.data());
    return true;
  };
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(check(good.substr(0, size)));
  }
  EXPECT_FALSE(check(good + '\0'));
  int accepted = 0;
  for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
    accepted += check(WithByte(good, bit / 8, good[bit / 8] ^ 1 << bit % 8));
  }
  EXPECT_GT(accepted, 0) << "other values are sound";
  RandomStream random(RandomKey(20240607));
  for (int i = 0; i < 3000; ++i) {
    std::string bad = good;
    for (uint64_t n = 1 + random.Below(6); n > 0; --n) {
      bad[random.Below(bad.size())] = static_cast<char>(random.Next());
    }
    check(bad);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryValueCodeTest,
                         testing::ValuesIn(ValueCodingNames()),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return info.param;
                         });

}  // namespace
}  // namespace ps
