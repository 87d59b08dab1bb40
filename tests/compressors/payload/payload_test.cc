#include "compressors/payload/payload.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/random.h"
#include "glog/logging.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compressors/own_payloads.h"

namespace ps {
namespace {

using testing::HasSubstr;

struct Elements {
  int64_t dense_size = 0;
  std::vector<uint32_t> indices;
  std::vector<float> values;
};

std::string Encode(const std::string& index_code, const Elements& elements,
                   uint32_t begin = 0) {
  std::vector<uint32_t> indices = elements.indices;
  for (uint32_t& index : indices) index += begin;
  const auto payload = EncodeSparse(index_code, indices, elements.values, begin,
                                    elements.dense_size);
  CHECK(payload.ok()) << payload.status();
  return std::string(reinterpret_cast<const char*>(payload->data()),
                     payload->size_bytes());
}

absl::Span<const uint8_t> Piece(absl::string_view bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

Elements Decode(const PayloadPieces& pieces, int64_t dense_size) {
  Elements elements;
  elements.dense_size = dense_size;
  DecodePayload(pieces, &elements.indices, &elements.values);
  return elements;
}

void ExpectEqual(const Elements& a, const Elements& b) {
  EXPECT_EQ(a.indices, b.indices);
  EXPECT_EQ(a.values, b.values);
}

// Checks that AddPayload adds the elements.
void ExpectAdds(const PayloadPieces& pieces, const Elements& elements) {
  std::vector<float> sum(elements.dense_size, 0.5f);
  std::vector<float> expected = sum;
  for (size_t i = 0; i < elements.indices.size(); ++i) {
    expected[elements.indices[i]] += elements.values[i];
  }
  AddPayload(pieces, sum.data());
  EXPECT_EQ(sum, expected);
}

Elements RandomElements(int64_t dense_size, double density, uint64_t seed) {
  RandomStream random(seed);
  Elements elements;
  elements.dense_size = dense_size;
  for (int64_t i = 0; i < dense_size; ++i) {
    if (random.Uniform() >= density) continue;
    elements.indices.push_back(static_cast<uint32_t>(i));
    elements.values.push_back(static_cast<float>(random.Normal()));
  }
  return elements;
}

Elements AllOf(const std::vector<float>& values) {
  Elements elements;
  elements.dense_size = static_cast<int64_t>(values.size());
  elements.values = values;
  for (size_t i = 0; i < values.size(); ++i) elements.indices.push_back(i);
  return elements;
}

const char* const kSparseCodes[] = {"raw32", "delta_varint", "bitmap", "rice",
                                    "elias_fano"};

// The examples in docs/wire_format.md.
const Elements kExample = {10, {1, 4, 9}, {1.5f, -2.0f, 0.25f}};
constexpr char kExampleHeaderEnd[] =  // After the codes.
    "03000000"
    "0a00000000000000"
    "0c00000000000000";
constexpr char kExampleValues[] =
    "0000c03f"
    "000000c0"
    "0000803e";

TEST(PayloadTest, ExampleBytesAreThoseOfTheDocument) {
  const std::string end = kExampleHeaderEnd;
  EXPECT_EQ(absl::BytesToHexString(Encode("raw32", kExample)),
            "01010000" + end + "0c00000000000000" + kExampleValues +
                "010000000400000009000000");
  EXPECT_EQ(absl::BytesToHexString(Encode("delta_varint", kExample)),
            "01020000" + end + "0300000000000000" + kExampleValues + "010204");
  EXPECT_EQ(absl::BytesToHexString(Encode("bitmap", kExample)),
            "01030000" + end + "0200000000000000" + kExampleValues + "1202");
  EXPECT_EQ(absl::BytesToHexString(Encode("rice", kExample)),
            "01040000" + end + "0300000000000000" + kExampleValues + "016600");
  EXPECT_EQ(absl::BytesToHexString(Encode("elias_fano", kExample)),
            "01050000" + end + "0200000000000000" + kExampleValues + "0549");
  EXPECT_EQ(Encode("auto", kExample), Encode("bitmap", kExample));
}

TEST(PayloadTest, DenseExampleBytesAreThoseOfTheDocument) {
  const PayloadBuffer payload = EncodeDense({1.0f, -0.5f});
  EXPECT_EQ(
      absl::BytesToHexString({reinterpret_cast<const char*>(payload.data()),
                              payload.size_bytes()}),
      "01000000"
      "02000000"
      "0200000000000000"
      "0800000000000000"
      "0000000000000000"
      "0000803f"
      "000000bf");
}

TEST(PayloadTest, GapOfTwoBytesIsThatOfTheDocument) {
  const std::string payload = Encode("delta_varint", {1000, {300}, {1.0f}});
  EXPECT_EQ(absl::BytesToHexString(payload.substr(36)), "ac02");
}

TEST(PayloadTest, RoundTripsAtEveryDensity) {
  for (const std::string& code : IndexCodeNames()) {
    for (const int64_t size : {0, 1, 7, 8, 9, 1023, 1024, 1025, 100003}) {
      for (const double density : {0.0, 0.0005, 0.1, 0.9, 1.0}) {
        SCOPED_TRACE(testing::Message()
                     << code << ", " << size << " x " << density);
        const Elements elements = RandomElements(size, density, size + 1);
        for (const uint32_t begin : {0u, 4000000000u}) {
          const std::string payload = Encode(code, elements, begin);
          const PayloadPieces pieces = {Piece(payload)};
          const auto info = ValidatePayload(pieces, size);
          ASSERT_TRUE(info.ok()) << info.status();
          EXPECT_EQ(info->count, static_cast<int64_t>(elements.indices.size()));
          ExpectEqual(Decode(pieces, size), elements);
          ExpectAdds(pieces, elements);
        }
      }
    }
  }
}

TEST(PayloadTest, LargestIndexRoundTrips) {
  const Elements elements = {
      kMaxDenseSize,
      {0, 0x7fffffff, static_cast<uint32_t>(kMaxDenseSize - 1)},
      {1, 2, 3}};
  for (const char* code : {"raw32", "delta_varint", "rice", "elias_fano"}) {
    const std::string payload = Encode(code, elements);
    ASSERT_TRUE(ValidatePayload({Piece(payload)}, kMaxDenseSize).ok());
    ExpectEqual(Decode({Piece(payload)}, kMaxDenseSize), elements);
  }
}

TEST(PayloadTest, AutoIsTheSmallest) {
  for (const double density : {0.0, 0.001, 0.02, 0.1, 0.5, 1.0}) {
    const Elements elements = RandomElements(20000, density, 5);
    const size_t size = Encode("auto", elements).size();
    for (const char* code : kSparseCodes) {
      EXPECT_LE(size, Encode(code, elements).size()) << code << density;
    }
  }
  // All positions need no indices.
  const Elements all = AllOf(std::vector<float>(100, 2.0f));
  EXPECT_EQ(Encode("auto", all).size(), kPayloadHeaderBytes + 400);
}

// Bits per index at a density, by the expectation of the reference.
struct CodeLength {
  double density;
  double entropy;
  double rice;
  double elias_fano;
};

TEST(PayloadTest, GapCodesHaveTheirExpectedLength) {
  for (const CodeLength& expected :
       {CodeLength{0.1, 4.690, 4.756, 5.250},
        CodeLength{0.01, 8.079, 8.108, 8.562},
        CodeLength{0.001, 11.408, 11.495, 11.953}}) {
    const int64_t size = static_cast<int64_t>(20000 / expected.density);
    const Elements elements = RandomElements(size, expected.density, 77);
    const double count = static_cast<double>(elements.indices.size());
    const auto bits = [&](const char* code) {
      const size_t values = elements.values.size() * sizeof(float);
      return 8.0 *
             (Encode(code, elements).size() - kPayloadHeaderBytes - values) /
             count;
    };
    // 20 000 gaps leave a spread of about 0.01 bits.
    EXPECT_NEAR(bits("rice"), expected.rice, 0.04);
    EXPECT_NEAR(bits("elias_fano"), expected.elias_fano, 0.04);
    EXPECT_GE(bits("rice"), expected.entropy - 0.02);
    EXPECT_EQ(bits("auto"), bits("rice"));
  }
}

TEST(PayloadTest, SparseFloatsAreCloseToTheirEntropy) {
  constexpr double kDensity = 0.001;
  const Elements elements = RandomElements(20000000, kDensity, 78);
  const double count = static_cast<double>(elements.indices.size());
  const double entropy = -std::log2(kDensity) -
                         (1 - kDensity) / kDensity * std::log2(1 - kDensity);
  const double bits = 8.0 * Encode("auto", elements).size() / count;
  EXPECT_LE(bits, 1.05 * (entropy + 32));
}

TEST(PayloadTest, ReadsPiecesCutAnywhere) {
  std::vector<std::string> payloads;
  std::vector<Elements> contents;
  for (const char* code : kSparseCodes) {
    contents.push_back(RandomElements(600, 0.02, 11));
    payloads.push_back(Encode(code, contents.back()));
  }
  contents.push_back(AllOf({1, 2, 3, 4, 5, 6, 7, 8, 9}));
  const PayloadBuffer dense = EncodeDense(contents.back().values);
  payloads.emplace_back(reinterpret_cast<const char*>(dense.data()),
                        dense.size_bytes());
  for (const std::string& own : OwnPayloads()) {
    payloads.push_back(own);
    contents.push_back(Decode({Piece(own)}, kOwnPayloadSize));
  }
  for (size_t p = 0; p < payloads.size(); ++p) {
    const absl::string_view payload = payloads[p];
    const int64_t size = contents[p].dense_size;
    // Two cuts; equal cuts leave an empty piece between them.
    for (size_t a = 0; a <= payload.size(); ++a) {
      for (size_t b = a; b <= payload.size(); b += 3) {
        const PayloadPieces pieces = {Piece(payload.substr(0, a)),
                                      Piece(payload.substr(a, b - a)),
                                      Piece(payload.substr(b))};
        const auto info = ValidatePayload(pieces, size);
        ASSERT_TRUE(info.ok()) << info.status();
        ExpectEqual(Decode(pieces, size), contents[p]);
        ExpectAdds(pieces, contents[p]);
      }
    }
    // Every byte in a piece of its own.
    PayloadPieces bytes;
    for (size_t i = 0; i < payload.size(); ++i) {
      bytes.push_back(Piece(payload.substr(i, 1)));
    }
    ASSERT_TRUE(ValidatePayload(bytes, size).ok());
    ExpectAdds(bytes, contents[p]);
  }
}

// Changes one field of a header.
template <typename Field>
std::string With(std::string payload, size_t offset, Field value) {
  std::memcpy(&payload[offset], &value, sizeof(value));
  return payload;
}

std::string Error(const std::string& payload, int64_t dense_size = 10) {
  const auto info = ValidatePayload({Piece(payload)}, dense_size);
  return info.ok() ? "accepted" : std::string(info.status().message());
}

TEST(PayloadTest, HeaderFaultsAreNamed) {
  const std::string good = Encode("raw32", kExample);
  ASSERT_EQ(Error(good), "accepted");
  EXPECT_THAT(Error(""), HasSubstr("payload of 0 bytes"));
  EXPECT_THAT(Error(good.substr(0, 31)), HasSubstr("payload of 31 bytes"));
  EXPECT_THAT(Error(With<uint8_t>(good, 0, 2)), HasSubstr("version 2"));
  EXPECT_THAT(Error(With<uint8_t>(good, 1, 99)), HasSubstr("index code 99"));
  EXPECT_THAT(Error(With<uint8_t>(good, 2, 99)), HasSubstr("value code 99"));
  EXPECT_THAT(Error(With<uint8_t>(good, 3, 1)), HasSubstr("zero byte"));
  EXPECT_THAT(Error(With<uint32_t>(good, 4, 11)), HasSubstr("11 elements"));
  EXPECT_THAT(Error(With<uint32_t>(good, 4, 4)), HasSubstr("4 values in 12"));
  EXPECT_THAT(Error(With<uint64_t>(good, 8, 1ull << 32)),
              HasSubstr("4294967296 positions"));
  EXPECT_THAT(Error(With<uint64_t>(good, 8, 11)),
              HasSubstr("11 positions; there are 10"));
  EXPECT_THAT(Error(With<uint64_t>(good, 16, ~uint64_t{0})),
              HasSubstr("value and"));
  // The sum of the sizes wraps around to the right length.
  EXPECT_THAT(
      Error(With<uint64_t>(With<uint64_t>(good, 16, 25), 24, ~uint64_t{0})),
      HasSubstr("value and"));
  EXPECT_THAT(Error(good + "x"), HasSubstr("there are 25"));
}

TEST(PayloadTest, IndexFaultsAreNamed) {
  // Bytes of the indices begin at 44.
  const std::string raw = Encode("raw32", kExample);
  EXPECT_THAT(Error(With<uint32_t>(raw, 44, 4)), HasSubstr("ascend"));
  EXPECT_THAT(Error(With<uint32_t>(raw, 48, 0)), HasSubstr("ascend"));
  EXPECT_THAT(Error(With<uint32_t>(raw, 52, 10)), HasSubstr("index 10 of 10"));

  std::string varint = Encode("delta_varint", kExample);
  EXPECT_THAT(Error(With<uint8_t>(varint, 46, 5)), HasSubstr("index 10 of 10"));
  // The same number with one byte too many.
  varint = Encode("delta_varint", {10, {4}, {1.0f}});
  std::string longer = With<uint64_t>(varint, 24, 2);
  longer.back() = static_cast<char>(0x84);
  EXPECT_THAT(Error(longer + '\0'), HasSubstr("a byte too many"));
  EXPECT_THAT(Error(With<uint8_t>(varint, 36, 0x84)), HasSubstr("fewer"));
  EXPECT_THAT(Error(longer + '\1'), HasSubstr("index 132 of 10"));
  EXPECT_THAT(Error(With<uint64_t>(varint, 24, 2) + '\0'), HasSubstr("more"));
  std::string endless = With<uint64_t>(varint, 24, 6);
  endless.back() = static_cast<char>(0xff);
  EXPECT_THAT(Error(endless + "\xff\xff\xff\xff\x01"),
              HasSubstr("more than five bytes"));

  const std::string bitmap = Encode("bitmap", kExample);
  EXPECT_THAT(Error(With<uint8_t>(bitmap, 44, 0x13)), HasSubstr("more"));
  EXPECT_THAT(Error(With<uint8_t>(bitmap, 44, 0x10)), HasSubstr("fewer"));
  EXPECT_THAT(Error(With<uint8_t>(bitmap, 45, 0x04)),
              HasSubstr("index 10 of 10"));
  EXPECT_THAT(Error(With<uint64_t>(bitmap, 24, 3) + '\0'),
              HasSubstr("a bitmap of 3 bytes"));

  const std::string rice = Encode("rice", kExample);
  EXPECT_THAT(Error(With<uint8_t>(rice, 44, 2)), HasSubstr("parameter 2"));
  EXPECT_THAT(Error(With<uint8_t>(rice, 46, 2)), HasSubstr("more"));
  EXPECT_THAT(Error(With<uint8_t>(rice, 45, 0xff)), HasSubstr("index 16 of"));
  EXPECT_THAT(Error(With<uint64_t>(rice, 24, 4) + '\0'), HasSubstr("more"));
  EXPECT_THAT(Error(With<uint64_t>(rice.substr(0, 46), 24, 2)),
              HasSubstr("fewer"));
  EXPECT_THAT(Error(With<uint64_t>(rice.substr(0, 44), 24, 0)),
              HasSubstr("parameter 0"));

  const std::string elias_fano = Encode("elias_fano", kExample);
  // The middle index becomes the first one again.
  EXPECT_THAT(Error(With<uint8_t>(elias_fano, 45, 0x43)), HasSubstr("ascend"));
  EXPECT_THAT(Error(With<uint8_t>(elias_fano, 45, 0x89)),
              HasSubstr("begins with 5"));
  EXPECT_THAT(Error(With<uint8_t>(elias_fano, 45, 0x09)), HasSubstr("fewer"));
  EXPECT_THAT(Error(With<uint8_t>(elias_fano, 45, 0xc9)), HasSubstr("more"));
  EXPECT_THAT(Error(With<uint8_t>(elias_fano, 44, 0x0d)), HasSubstr("more"));
  EXPECT_THAT(Error(With<uint64_t>(elias_fano, 24, 3) + '\0'),
              HasSubstr("code of 3 bytes"));
  // In 32 bits this high part would be shifted out, and the index would be 0.
  const std::string last =
      Encode("elias_fano", {kMaxDenseSize, {1u << 31}, {1.0f}});
  ASSERT_EQ(last.substr(36), std::string("\0\0\0\0\2", 5));
  EXPECT_THAT(Error(With<uint8_t>(last, 40, 4), kMaxDenseSize),
              HasSubstr("begins with 2"));

  // A dense payload with fewer values than positions.
  EXPECT_THAT(Error(With<uint8_t>(Encode("bitmap", {10, {}, {}}), 1, 0)),
              HasSubstr("a dense payload of 10 positions"));
}

TEST(PayloadTest, ValuesThatAreNotFiniteAreRefused) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    for (const int64_t position : {0, 5, 1023, 1024, 2000}) {
      std::vector<float> values(2001, 1.0f);
      values[position] = bad;
      const PayloadBuffer payload = EncodeDense(values);
      EXPECT_THAT(ValidatePayload({payload.span()}, 2001).status().message(),
                  HasSubstr("not finite"));
    }
  }
}

// Long enough for whole vectors on any processor, with a remainder.
TEST(PayloadTest, AValueThatIsNotFiniteIsFoundWhereverTheBytesAreCut) {
  constexpr size_t kSize = 37;
  for (size_t bad = 0; bad < kSize; ++bad) {
    std::vector<float> values(kSize, 1);
    values[bad] = bad % 2 == 0 ? std::numeric_limits<float>::infinity()
                               : std::numeric_limits<float>::quiet_NaN();
    const PayloadBuffer payload = EncodeDense(values);
    const std::string bytes(reinterpret_cast<const char*>(payload.data()),
                            payload.size_bytes());
    for (size_t cut = kPayloadHeaderBytes; cut < bytes.size(); ++cut) {
      const std::string first = bytes.substr(0, cut);
      const std::string rest = bytes.substr(cut);
      EXPECT_THAT(
          std::string(ValidatePayload({Piece(first), Piece(rest)}, kSize)
                          .status()
                          .message()),
          HasSubstr("not finite"))
          << "value " << bad << ", cut at byte " << cut;
    }
  }
}

// Checks that an accepted payload can be added to a sum of that size, and is
// what a writer of its index code would write.
void ExpectSound(const PayloadPieces& pieces, const std::string& bytes,
                 int64_t dense_size) {
  const Elements elements = Decode(pieces, dense_size);
  const int index_code = bytes[1];
  if (index_code > 0 && index_code < static_cast<int>(IndexCode::kAdaComp)) {
    ASSERT_EQ(Encode(kSparseCodes[index_code - 1], elements), bytes);
  }
  int64_t previous = -1;
  for (const uint32_t index : elements.indices) {
    ASSERT_GT(index, previous);
    previous = index;
  }
  ASSERT_LT(previous, dense_size);
  for (const float value : elements.values) ASSERT_TRUE(std::isfinite(value));
  ExpectAdds(pieces, elements);
}

TEST(PayloadFuzzTest, NoDamageCrashesOrPassesUnsound) {
  constexpr int64_t kSize = 300;
  std::vector<std::string> seeds;
  for (const char* code : kSparseCodes) {
    seeds.push_back(Encode(code, RandomElements(kSize, 0.05, 2)));
    seeds.push_back(Encode(code, RandomElements(kSize, 0.7, 3)));
  }
  seeds.push_back(Encode("auto", RandomElements(kSize, 1, 4)));
  static_assert(kSize == kOwnPayloadSize);
  for (const std::string& own : OwnPayloads()) seeds.push_back(own);
  int64_t accepted = 0;
  int64_t refused = 0;
  const auto check = [&](const std::string& bytes) {
    // On the heap, at its exact size, so that a sanitizer sees any byte read
    // past the end; and in two pieces.
    const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
    const absl::Span<const uint8_t> all = exact;
    const size_t cut = exact.size() / 2;
    for (const PayloadPieces& pieces :
         {PayloadPieces{all},
          PayloadPieces{all.subspan(0, cut), all.subspan(cut)}}) {
      if (ValidatePayload(pieces, kSize).ok()) {
        ++accepted;
        ExpectSound(pieces, bytes, kSize);
      } else {
        ++refused;
      }
    }
  };
  RandomStream random(20240607);
  for (const std::string& seed : seeds) {
    for (size_t size = 0; size < seed.size(); ++size) {
      check(seed.substr(0, size));
    }
    for (size_t bit = 0; bit < 8 * seed.size(); ++bit) {
      std::string bytes = seed;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      check(bytes);
    }
    for (int i = 0; i < 3000; ++i) {
      std::string bytes = seed;
      for (uint64_t n = 1 + random.Below(6); n > 0; --n) {
        bytes[random.Below(bytes.size())] = static_cast<char>(random.Next());
      }
      check(bytes);
    }
  }
  for (int i = 0; i < 5000; ++i) {
    std::string bytes(random.Below(100), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.Next());
    check(bytes);
  }
  EXPECT_GT(accepted, 1000) << "other finite values are sound";
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace ps
