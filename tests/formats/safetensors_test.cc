#include "formats/safetensors.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

std::string TestPath() {
  return absl::StrCat(
      testing::TempDir(), "/",
      testing::UnitTest::GetInstance()->current_test_info()->name());
}

// A file with exactly this header and this many bytes of data.
std::string File(absl::string_view header, size_t data_bytes) {
  const uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof(length));
  absl::StrAppend(&bytes, header, std::string(data_bytes, '\0'));
  return bytes;
}

void ExpectError(absl::StatusCode code, absl::string_view header,
                 size_t data_bytes, const std::string& reason) {
  const auto result = ParseSafetensors(File(header, data_bytes));
  EXPECT_EQ(result.status().code(), code) << header;
  EXPECT_THAT(std::string(result.status().message()), HasSubstr(reason));
}

std::string ExampleFile() {
  const std::vector<float> w = {1, -2, 0.5f, 4};
  const std::vector<float> b = {3};
  const std::string path = TestPath();
  EXPECT_TRUE(WriteSafetensors(path, {{"w", {2, 2}, w}, {"b", {1}, b}},
                               {{"format", "pt"}})
                  .ok());
  return *ReadFile(path);
}

TEST(SafetensorsTest, ReadsBackWhatWasWritten) {
  const std::vector<float> odd = {0.0f, -0.0f,
                                  std::numeric_limits<float>::infinity(),
                                  std::numeric_limits<float>::denorm_min()};
  const std::vector<float> one = {7};
  ASSERT_TRUE(WriteSafetensors(TestPath(),
                               {{"conv1.weight", {2, 1, 2}, odd},
                                {"nothing", {0, 3}, {}},
                                {"a \"quoted\" name\n\u00e9", {}, one}},
                               {{"iteration", "12"}, {"job", "x"}})
                  .ok());
  const auto read = ReadSafetensors(TestPath());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->metadata,
              ElementsAre(Pair("iteration", "12"), Pair("job", "x")));
  ASSERT_EQ(read->tensors.size(), 3);
  EXPECT_EQ(read->tensors[0].name, "conv1.weight");
  EXPECT_THAT(read->tensors[0].shape, ElementsAre(2, 1, 2));
  // Compares bits, which tell the zeros apart.
  ASSERT_EQ(read->tensors[0].values.size(), 4);
  EXPECT_EQ(std::memcmp(read->tensors[0].values.data(), odd.data(), 16), 0);
  EXPECT_EQ(read->tensors[1].name, "nothing");
  EXPECT_THAT(read->tensors[1].shape, ElementsAre(0, 3));
  EXPECT_THAT(read->tensors[1].values, IsEmpty());
  EXPECT_EQ(read->tensors[2].name, "a \"quoted\" name\n\u00e9");
  EXPECT_THAT(read->tensors[2].shape, IsEmpty());
  EXPECT_THAT(read->tensors[2].values, ElementsAre(7));
}

TEST(SafetensorsTest, AFileWithoutTensorsIsAFile) {
  ASSERT_TRUE(WriteSafetensors(TestPath(), {}, {}).ok());
  const auto read = ReadSafetensors(TestPath());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->tensors, IsEmpty());
  EXPECT_THAT(read->metadata, IsEmpty());
}

TEST(SafetensorsTest, TheBytesAreThoseOfTheFormat) {
  const std::vector<float> values = {1, -2};
  ASSERT_TRUE(WriteSafetensors(TestPath(), {{"w", {2}, values}}, {}).ok());
  constexpr char kExpected[] =
      "\x38\0\0\0\0\0\0\0"
      "{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}"
      "  "
      "\0\0\x80\x3f\0\0\0\xc0";
  EXPECT_EQ(*ReadFile(TestPath()),
            std::string(kExpected, sizeof(kExpected) - 1));
}

TEST(SafetensorsTest, EveryLengthButTheWholeIsDataLoss) {
  const std::string bytes = ExampleFile();
  ASSERT_TRUE(ParseSafetensors(bytes).ok());
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(ParseSafetensors(bytes.substr(0, length)).status().code(),
              absl::StatusCode::kDataLoss)
        << length << " of " << bytes.size();
  }
  EXPECT_EQ(ParseSafetensors(bytes + "x").status().code(),
            absl::StatusCode::kDataLoss);
}

// The format has no checksum. A flipped bit may therefore change a value, a
// name, a metadata text, or a shape into another one with as many elements; but
// never the number of tensors or the size of their data.
TEST(SafetensorsTest, AFlippedBitIsAnErrorOrKeepsTheLayout) {
  const std::string bytes = ExampleFile();
  const Safetensors original = *ParseSafetensors(bytes);
  int errors = 0;
  for (size_t byte = 0; byte < bytes.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      const auto read = ParseSafetensors(damaged);
      if (!read.ok()) {
        ++errors;
        continue;
      }
      // A flip may turn the name __metadata__ into a tensor's name. Its entry
      // is not a valid tensor, so the number of tensors stays the same.
      ASSERT_EQ(read->tensors.size(), 2) << "bit " << bit << ", byte " << byte;
      EXPECT_EQ(read->tensors[0].values.size(), 4);
      EXPECT_EQ(read->tensors[1].values.size(), 1);
    }
  }
  // The eight bytes of the header's length and the keys of the format alone
  // have more bits than this.
  EXPECT_GT(errors, 8 * 80);
}

TEST(SafetensorsTest, RefusesALengthBeyondTheFile) {
  for (const uint64_t length :
       {uint64_t{3}, uint64_t{99'999'999}, uint64_t{1} << 40, UINT64_MAX}) {
    std::string bytes(reinterpret_cast<const char*>(&length), 8);
    bytes += "{}";
    const auto read = ParseSafetensors(bytes);
    EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(read.status().message()),
                HasSubstr(absl::StrCat(length, " bytes, but only 2 follow")));
  }
}

TEST(SafetensorsTest, RefusesWhatIsNoHeader) {
  const auto kDataLoss = absl::StatusCode::kDataLoss;
  for (const char* header : {"", "[]", "null", "1", "{", "{}}", " {}",
                             "{\"a\"}", "{} x", "{\"a\":1e999}"}) {
    ExpectError(kDataLoss, header, 0, "not a JSON object");
  }
  ExpectError(kDataLoss, std::string(1'000'000, '['), 0, "not a JSON object");
  // The format's own reader refuses what follows a NUL, too.
  ExpectError(kDataLoss, std::string("{}\0", 3), 0, "not a JSON object");
  ExpectError(kDataLoss, std::string("{}\0garbage", 10), 0,
              "not a JSON object");
  ExpectError(kDataLoss, "{\"__metadata__\":[]}", 0, "map of strings");
  ExpectError(kDataLoss, "{\"__metadata__\":{\"a\":1}}", 0, "map of strings");
}

TEST(SafetensorsTest, RefusesARepeatedKey) {
  const auto kDataLoss = absl::StatusCode::kDataLoss;
  ExpectError(kDataLoss,
              R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
              R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
              4, "has \"w\" twice");
  ExpectError(kDataLoss,
              R"({"w":{"dtype":"F32","shape":[2],"shape":[1],)"
              R"("data_offsets":[0,4]}})",
              4, "has \"shape\" twice");
  // The same key in two objects is not a repetition.
  EXPECT_TRUE(
      ParseSafetensors(
          File(R"({"v":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
               R"("w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
               8))
          .ok());
}

TEST(SafetensorsTest, RefusesAnEntryThatIsNotOneOfTheFormat) {
  for (const char* entry :
       {"1", "[]", "{}", R"({"dtype":"F32","shape":[1]})",
        R"({"dtype":"F32","shape":1,"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[1.0],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[1],"data_offsets":[0,4,4]})",
        R"({"dtype":"F32","shape":[1],"data_offsets":[0,"4"]})",
        R"({"dtype":4,"shape":[1],"data_offsets":[0,4]})",
        R"({"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1})"}) {
    ExpectError(absl::StatusCode::kDataLoss,
                absl::StrCat("{\"w\":", entry, "}"), 4,
                "\"w\" must have a dtype");
  }
}

TEST(SafetensorsTest, ReadsHalvesAsTheNumbersThatTheyAre) {
  std::string bytes =
      File(R"({"b":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]},)"
           R"("h":{"dtype":"F16","shape":[2,5],"data_offsets":[8,28]}})",
           0);
  const uint16_t data[] = {
      // bfloat16: 1, -2.5, its smallest, infinity.
      0x3f80, 0xc020, 0x0001, 0x7f80,
      // binary16: 1, -2.5, largest, smallest normal, largest below it,
      // smallest, -0, -infinity, a NaN, 1 + 2^-10.
      0x3c00, 0xc100, 0x7bff, 0x0400, 0x03ff, 0x0001, 0x8000, 0xfc00, 0x7e00,
      0x3c01};
  bytes.append(reinterpret_cast<const char*>(data), sizeof(data));
  const auto read = ParseSafetensors(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(read->tensors[0].dtype, "BF16");
  EXPECT_THAT(read->tensors[0].values,
              ElementsAre(1, -2.5f, 0x1p-133f, infinity));
  EXPECT_EQ(read->tensors[1].dtype, "F16");
  std::vector<float> values = read->tensors[1].values;
  ASSERT_EQ(values.size(), 10);
  EXPECT_TRUE(std::isnan(values[8]));
  values.erase(values.begin() + 8);
  EXPECT_THAT(values, ElementsAre(1, -2.5f, 65504, 0x1p-14f, 1023 * 0x1p-24f,
                                  0x1p-24f, 0, -infinity, 1 + 0x1p-10f));
  EXPECT_TRUE(std::signbit(values[6]));
}

TEST(SafetensorsTest, WhatIsNoFloatIsNamedAndNotRead) {
  const auto read = ParseSafetensors(
      File(R"({"n":{"dtype":"I64","shape":[],"data_offsets":[0,8]}})", 8));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->tensors[0].dtype, "I64");
  EXPECT_THAT(read->tensors[0].values, IsEmpty());
  ExpectError(absl::StatusCode::kDataLoss,
              R"({"n":{"dtype":"I64","shape":[],"data_offsets":[0,4]}})", 4,
              "\"n\" has shape [");
}

// Sizes of version 0.8 of the format's own reader.
TEST(SafetensorsTest, KnowsTheSizesOfTypesThatItDoesNotRead) {
  const std::pair<std::string, int> four_elements[] = {
      {"F4", 2},          {"F6_E2M3", 3}, {"F6_E3M2", 3},
      {"F8_E4M3", 4},     {"F8_E8M0", 4}, {"F8_E4M3FNUZ", 4},
      {"F8_E5M2FNUZ", 4}, {"BF16", 8},    {"C64", 32}};
  for (const auto& [dtype, bytes] : four_elements) {
    const auto read = ParseSafetensors(File(
        absl::StrCat("{\"w\":{\"dtype\":\"", dtype,
                     "\",\"shape\":[4],\"data_offsets\":[0,", bytes, "]}}"),
        bytes));
    EXPECT_TRUE(read.ok()) << read.status();
  }
  ExpectError(absl::StatusCode::kDataLoss,
              R"({"w":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", 2,
              "\"w\" has shape [3]");
}

TEST(SafetensorsTest, RefusesAnUnknownTypeByName) {
  ExpectError(absl::StatusCode::kUnimplemented,
              R"({"w":{"dtype":"C128","shape":[2],"data_offsets":[0,32]}})", 32,
              "\"w\" has dtype C128");
}

TEST(SafetensorsTest, NamesWhatAnotherFileIs) {
  const std::pair<absl::string_view, std::string> files[] = {
      {"PK\x03\x04 archive/data.pkl", "a zip archive, as torch.save writes it"},
      {"\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j", "a pickle of Python"},
      {"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS"},
      {"<!DOCTYPE html><html>", "a page of HTML"},
      {"\n<html lang=en>", "a page of HTML"}};
  for (const auto& [bytes, kind] : files) {
    const absl::Status status = ParseSafetensors(bytes).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("this is no safetensors file; it is " + kind));
  }
}

TEST(SafetensorsTest, RefusesAShapeThatIsNotTheSizeOfTheData) {
  for (const char* shape :
       {"[2]", "[0]", "[4294967296,4294967296,1]", "[9223372036854775808]",
        "[4611686018427387904,4]", "[9223372036854775807,9,0,1]"}) {
    ExpectError(absl::StatusCode::kDataLoss,
                absl::StrCat("{\"w\":{\"dtype\":\"F32\",\"shape\":", shape,
                             ",\"data_offsets\":[0,4]}}"),
                4, "\"w\" has shape [");
  }
  ExpectError(absl::StatusCode::kDataLoss,
              R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4,
              "\"w\" has shape [");
}

TEST(SafetensorsTest, RefusesGapsOverlapsAndRest) {
  const auto two = [](const char* v, const char* w) {
    const std::string head = R"({"dtype":"F32","shape":[1],"data_offsets":)";
    return absl::StrCat("{\"v\":", head, v, "},\"w\":", head, w, "}}");
  };
  const auto kDataLoss = absl::StatusCode::kDataLoss;
  ExpectError(kDataLoss, two("[0,4]", "[8,12]"), 12, "\"w\" begins at 8");
  ExpectError(kDataLoss, two("[0,4]", "[2,6]"), 6, "\"w\" begins at 2");
  ExpectError(kDataLoss, two("[0,4]", "[0,4]"), 4, "\"w\" begins at 0");
  ExpectError(kDataLoss, two("[4,8]", "[8,12]"), 12, "\"v\" begins at 4");
  ExpectError(kDataLoss, two("[0,4]", "[4,8]"), 7, "the file holds 7");
  ExpectError(kDataLoss, two("[0,4]", "[4,8]"), 9, "the file holds 9");
  EXPECT_TRUE(ParseSafetensors(File(two("[4,8]", "[0,4]"), 8)).ok());
}

TEST(SafetensorsTest, TensorsComeInTheOrderOfTheirData) {
  std::string bytes =
      File(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},)"
           R"("b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
           0);
  const float data[] = {1, 2};
  bytes.append(reinterpret_cast<const char*>(data), sizeof(data));
  const auto read = ParseSafetensors(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->tensors[0].name, "b");
  EXPECT_THAT(read->tensors[0].values, ElementsAre(1));
  EXPECT_EQ(read->tensors[1].name, "a");
  EXPECT_THAT(read->tensors[1].values, ElementsAre(2));
}

TEST(SafetensorsTest, AnErrorWhileReadingNamesTheFile) {
  ASSERT_TRUE(WriteFileAtomically(TestPath(), "short").ok());
  EXPECT_THAT(std::string(ReadSafetensors(TestPath()).status().message()),
              HasSubstr(absl::StrCat(TestPath(), ": only 5 bytes")));
}

TEST(SafetensorsTest, WritesNothingThatCouldNotBeRead) {
  const std::vector<float> one = {1};
  const std::string path = TestPath();
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(WriteSafetensors(path, {{"w", {2}, one}}, {}).code(), kInvalid);
  EXPECT_EQ(WriteSafetensors(path, {{"w", {-1}, one}}, {}).code(), kInvalid);
  EXPECT_EQ(
      WriteSafetensors(path, {{"w", {1}, one}, {"w", {1}, one}}, {}).code(),
      kInvalid);
  EXPECT_EQ(WriteSafetensors(path, {{"__metadata__", {1}, one}}, {}).code(),
            kInvalid);
  EXPECT_EQ(WriteSafetensors(path, {{"\xff", {1}, one}}, {}).code(), kInvalid);
  EXPECT_EQ(WriteSafetensors(path, {}, {{"key", "\xc3"}}).code(), kInvalid);
  EXPECT_EQ(ReadFile(path).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace ps
