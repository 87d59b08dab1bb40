// Positions and values of a payload that travel apart.
#include "compressors/payload/shared_positions.h"

#include <algorithm>
#include <string>
#include <vector>

#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/compressors/own_payloads.h"

namespace ps {
namespace {

using testing::HasSubstr;

constexpr int64_t kSize = 300;
const std::vector<uint32_t> kIndices = {2, 3, 77, 78, 150, 298, 299};

PayloadBuffer Encode(const PayloadCodes& codes) {
  std::vector<float> values = {1, -2, 3, 0.5f, -0.25f, 8, -1};
  auto payload =
      EncodeElements(codes, kIndices, absl::MakeSpan(values), 0, kSize, 7);
  EXPECT_TRUE(payload.ok()) << payload.status();
  return *std::move(payload);
}

std::string Joined(const PayloadPieces& pieces) {
  std::string bytes;
  for (const auto& piece : pieces) bytes.append(piece.begin(), piece.end());
  return bytes;
}

// For every code of indices and of values.
TEST(SharedPositionsTest, WhatWasTakenApartIsPutTogetherAgain) {
  for (const std::string& index_code : IndexCodeNames()) {
    for (const std::string& value_code : ValueCodeNames()) {
      SCOPED_TRACE(index_code + ", " + value_code);
      PayloadCodes codes;
      codes.index_code = index_code;
      codes.value_code = value_code;
      const PayloadBuffer payload = Encode(codes);
      const auto positions = PositionsOf({payload.span()});
      ASSERT_TRUE(positions.ok()) << positions.status();
      const PayloadBuffer values = WithoutPositions(payload);
      EXPECT_EQ(positions->size_bytes() + values.size_bytes(),
                payload.size_bytes() + kPayloadHeaderBytes);
      EXPECT_TRUE(LacksPositions({values.span()}));
      EXPECT_FALSE(LacksPositions({payload.span()}));
      const auto read = ReadPositions({positions->span()}, kSize);
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_EQ(*read, kIndices);
      for (size_t cut = 0; cut <= values.size_bytes(); ++cut) {
        const PayloadPieces pieces = {values.span().subspan(0, cut),
                                      values.span().subspan(cut)};
        const auto completed = WithPositions(pieces, *positions);
        ASSERT_TRUE(completed.ok()) << completed.status();
        ASSERT_EQ(Joined(completed->pieces), Joined({payload.span()}));
      }
      // Nobody takes the halves for a payload.
      EXPECT_THAT(
          std::string(
              ValidatePayload({values.span()}, kSize).status().message()),
          HasSubstr("unknown index code 8"));
      EXPECT_THAT(
          std::string(
              ValidatePayload({positions->span()}, kSize).status().message()),
          HasSubstr("unknown value code 16"));
    }
  }
}

TEST(SharedPositionsTest, ADensePayloadHasNoPositions) {
  const PayloadBuffer payload = EncodeDense(std::vector<float>(5, 1.5f));
  EXPECT_EQ(WithoutPositions(payload).data(), payload.data());
  const auto read = ReadPositions({PositionsOf({payload.span()})->span()}, 5);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(*read, testing::ElementsAre(0, 1, 2, 3, 4));
}

TEST(SharedPositionsTest, ValuesForOtherPositionsAreRefused) {
  const PayloadBuffer positions = *PositionsOf({Encode({}).span()});
  const std::vector<uint32_t> fewer = {1, 2};
  std::vector<float> two = {1, 2};
  const auto error = [&](int64_t dense_size) {
    const auto other = EncodeSparse("rice", fewer, two, 0, dense_size);
    return std::string(
        WithPositions({WithoutPositions(*other).span()}, positions)
            .status()
            .message());
  };
  EXPECT_THAT(error(kSize), HasSubstr("2 values for 300 positions"));
  EXPECT_THAT(error(kSize - 1), HasSubstr("2 values for 299 positions"));
}

TEST(SharedPositionsTest, PositionsInValuesCannotBeShared) {
  const std::string adacomp = OwnPayloads()[0];
  const absl::Span<const uint8_t> bytes = {
      reinterpret_cast<const uint8_t*>(adacomp.data()), adacomp.size()};
  EXPECT_TRUE(absl::IsInvalidArgument(PositionsOf({bytes}).status()));
}

// Every byte string is either refused or read within its bounds.
TEST(SharedPositionsTest, NoDamageIsReadBeyondItsBounds) {
  const PayloadBuffer payload = Encode({});
  const PayloadBuffer positions = *PositionsOf({payload.span()});
  const PayloadBuffer values = WithoutPositions(payload);
  for (const PayloadBuffer* seed : {&positions, &values}) {
    const std::vector<uint8_t> good(seed->span().begin(), seed->span().end());
    const auto check = [&](const std::vector<uint8_t>& bytes) {
      const auto read = ReadPositions({bytes}, kSize);
      if (read.ok()) {
        for (const uint32_t index : *read) ASSERT_LT(index, kSize);
      }
      LacksPositions({bytes});
      const auto completed = WithPositions({bytes}, positions);
      if (completed.ok()) {
        ValidatePayload(completed->pieces, kSize).status().IgnoreError();
      }
    };
    for (size_t size = 0; size < good.size(); ++size) {
      check(std::vector<uint8_t>(good.begin(), good.begin() + size));
    }
    for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
      std::vector<uint8_t> bad = good;
      bad[bit / 8] = static_cast<uint8_t>(bad[bit / 8] ^ 1 << bit % 8);
      check(bad);
    }
  }
}

// What only a compressor reads: its remark travels with the positions.
TEST(SharedPositionsTest, RemarksTravelWithPositions) {
  const PayloadBuffer plain = Encode(PayloadCodes());
  const PayloadBuffer coded = EncodeCoded(plain, "to all", "to the server");
  EXPECT_TRUE(CodedByCompressor({coded.span()}));
  EXPECT_FALSE(CodedByCompressor({plain.span()}));
  EXPECT_FALSE(ValidatePayload({coded.span()}, kSize).ok());
  const CodedPayload read = ReadCoded({coded.span()}, kSize).value();
  EXPECT_EQ(read.indices, kIndices);
  EXPECT_EQ(read.remark, "to all");
  EXPECT_EQ(read.rest, "to the server");
  const PayloadBuffer positions = PositionsOf({coded.span()}).value();
  EXPECT_EQ(ReadRemarks({positions.span()})->leader, "to all");
  const PayloadBuffer told = WithServerRemarks(positions, "from the server");
  EXPECT_EQ(ReadPositions({told.span()}, kSize).value(), kIndices);
  const PositionRemarks remarks = ReadRemarks({told.span()}).value();
  EXPECT_EQ(remarks.leader, "to all");
  EXPECT_EQ(remarks.server, "from the server");
  const PayloadBuffer bare =
      WithServerRemarks(PositionsOf({plain.span()}).value(), "x");
  EXPECT_EQ(ReadRemarks({bare.span()})->leader, "");
  EXPECT_EQ(ReadRemarks({bare.span()})->server, "x");
  // Another worker's, completed.
  const PayloadBuffer values =
      WithoutPositions(EncodeCoded(plain, "", "its own"));
  EXPECT_EQ(ReadCoded({values.span()}, kSize)->count, 7);
  const CompletedPayload completed =
      WithPositions({values.span()}, positions).value();
  const CodedPayload whole = ReadCoded(completed.pieces, kSize).value();
  EXPECT_EQ(whole.indices, kIndices);
  EXPECT_EQ(whole.rest, "its own");
}

TEST(SharedPositionsTest, DamagedRemarksAreRefused) {
  const PayloadBuffer coded =
      EncodeCoded(Encode(PayloadCodes()), "to all", "to the server");
  for (size_t at = 0; at < coded.size_bytes(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      PayloadBuffer bad = PayloadBuffer::Allocate(coded.size_bytes());
      std::copy_n(coded.data(), coded.size_bytes(), bad.data());
      bad.data()[at] ^= static_cast<uint8_t>(1 << bit);
      // Either is fine; it must not read beyond the bytes that are there.
      (void)ReadCoded({bad.span()}, kSize);
      (void)ReadRemarks({bad.span()});
      bad.Shrink(at);
      EXPECT_FALSE(ReadCoded({bad.span()}, kSize).ok());
    }
  }
}

}  // namespace
}  // namespace ps
