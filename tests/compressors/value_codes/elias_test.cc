// Elias's integer codes, against the words in the paper.
#include "compressors/value_codes/elias.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

constexpr uint32_t kLargest = 0xffffffff;

std::string Word(BitString string) {
  std::string word;
  for (int bit = string.length - 1; bit >= 0; --bit) {
    word += string.bits >> bit & 1 ? '1' : '0';
  }
  return word;
}

struct Code {
  const char* name;
  BitString (*write)(uint32_t);
  uint32_t (*read)(HighBitReader*);
};

class EliasTest : public testing::TestWithParam<Code> {
 protected:
  // Reads integers until the stream has no more; at most `n`.
  static std::vector<uint32_t> Read(const std::vector<uint8_t>& bytes,
                                    size_t n) {
    const PayloadPieces pieces = {absl::MakeConstSpan(bytes)};
    HighBitReader reader(
        PieceReader(pieces, 0, static_cast<int64_t>(bytes.size())));
    std::vector<uint32_t> integers;
    while (integers.size() < n) {
      const uint32_t integer = GetParam().read(&reader);
      if (integer == 0) break;
      integers.push_back(integer);
    }
    return integers;
  }
};

TEST(EliasWordsTest, AreThoseOfTheSpecification) {
  const struct {
    uint32_t k;
    const char* gamma;
    const char* omega;
  } kWords[] = {{1, "1", "0"},
                {2, "010", "100"},
                {3, "011", "110"},
                {4, "00100", "101000"},
                {8, "0001000", "1110000"},
                {16, "000010000", "10100100000"},
                {17, "000010001", "10100100010"},
                {100, "0000001100100", "1011011001000"}};
  for (const auto& word : kWords) {
    EXPECT_EQ(Word(EliasGamma(word.k)), word.gamma) << word.k;
    EXPECT_EQ(Word(EliasOmega(word.k)), word.omega) << word.k;
  }
  EXPECT_EQ(EliasGamma(kLargest).length, 63);
  EXPECT_EQ(EliasOmega(kLargest).length, 32 + 5 + 3 + 2 + 1);
}

TEST_P(EliasTest, NoWordBeginsAnother) {
  std::vector<std::string> words;
  for (uint32_t k = 1; k < 5000; ++k)
    words.push_back(Word(GetParam().write(k)));
  for (int power = 13; power < 32; ++power) {
    for (const uint32_t off : {0u, 1u, 2u}) {
      words.push_back(Word(GetParam().write((uint32_t{1} << power) - 1 + off)));
    }
  }
  words.push_back(Word(GetParam().write(kLargest)));
  std::sort(words.begin(), words.end());
  // In sorted order, an extension of a word would come right after it.
  for (size_t i = 1; i < words.size(); ++i) {
    ASSERT_NE(words[i].compare(0, words[i - 1].size(), words[i - 1]), 0)
        << words[i - 1] << " begins " << words[i];
  }
}

TEST_P(EliasTest, StreamsReadBackAndEndWhereTheyAreCut) {
  std::vector<uint32_t> integers;
  for (uint32_t k = 1; k < 300; ++k) integers.push_back(k);
  for (int power = 9; power < 32; ++power) {
    integers.push_back((uint32_t{1} << power) - 1);
    integers.push_back(uint32_t{1} << power);
  }
  integers.push_back(kLargest);
  std::vector<uint8_t> bytes(8 * integers.size() + 8, 0xaa);
  HighBitWriter writer(bytes.data());
  int64_t bits = 0;
  std::vector<int64_t> ends;  // In bits.
  for (const uint32_t k : integers) {
    writer.Put(GetParam().write(k));
    bits += GetParam().write(k).length;
    ends.push_back(bits);
  }
  bytes.resize(writer.Finish() - bytes.data());
  ASSERT_EQ(static_cast<int64_t>(bytes.size()), (bits + 7) / 8);
  EXPECT_EQ(Read(bytes, integers.size()), integers);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const size_t whole =
        static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(),
                                             static_cast<int64_t>(8 * size)) -
                            ends.begin());
    const auto read =
        Read(std::vector<uint8_t>(bytes.begin(), bytes.begin() + size),
             integers.size());
    ASSERT_EQ(read,
              std::vector<uint32_t>(integers.begin(), integers.begin() + whole))
        << size << " bytes";
  }
}

TEST_P(EliasTest, NumbersOfMoreThan32BitsAreNone) {
  // Gamma: 32 zeros and a 1. Omega: groups 3, 15, 65535, and one more.
  std::vector<uint8_t> bytes = {0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  if (std::string(GetParam().name) == "omega") bytes.assign(20, 0xff);
  EXPECT_THAT(Read(bytes, 1), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    All, EliasTest,
    testing::Values(Code{"gamma", EliasGamma, ReadEliasGamma},
                    Code{"omega", EliasOmega, ReadEliasOmega}),
    [](const testing::TestParamInfo<Code>& info) {
      return std::string(info.param.name);
    });

}  // namespace
}  // namespace ps
