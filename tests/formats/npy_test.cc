#include "formats/npy.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Files that follow the text of NumPy's format specification
// (numpy.lib.format), made independently of this code. Float32 [1, -2.5,
// 0.15625], as numpy.save() writes it:
constexpr char kFloats[] =
    "934e554d5059010076007b276465736372273a20273c6634272c2027666f727472616e5f"
    "6f72646572273a2046616c73652c20277368617065273a2028332c292c207d2020202020"
    "202020202020202020202020202020202020202020202020202020202020202020202020"
    "202020202020202020202020202020202020200a0000803f000020c00000203e";
// Int64 [[1, -2], [3, 2^40]], version 2.0.
constexpr char kIntegersVersion2[] =
    "934e554d50590200740000007b276465736372273a20273c6938272c2027666f72747261"
    "6e5f6f72646572273a2046616c73652c20277368617065273a2028322c2032292c207d20"
    "202020202020202020202020202020202020202020202020202020202020202020202020"
    "202020202020202020202020202020202020200a0100000000000000feffffffffffffff"
    "03000000000000000000000000010000";
// Float32 [[-0.5], [7]], padded to 16 bytes, as NumPy did before 1.14.
constexpr char kFloatsOldPadding[] =
    "934e554d5059010046007b276465736372273a20273c6634272c2027666f727472616e5f"
    "6f72646572273a2046616c73652c20277368617065273a2028322c2031292c207d202020"
    "202020202020200a000000bf0000e040";
// Float32 [2], version 3.0.
constexpr char kFloatVersion3[] =
    "934e554d50590300740000007b276465736372273a20273c6634272c2027666f72747261"
    "6e5f6f72646572273a2046616c73652c20277368617065273a2028312c292c207d202020"
    "202020202020202020202020202020202020202020202020202020202020202020202020"
    "202020202020202020202020202020202020200a00000040";

std::string Bytes(const char* hex) { return absl::HexStringToBytes(hex); }

// A file of version 1.0 with this text and this many bytes of data.
std::string FileWith(const std::string& text, size_t data_bytes) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(text.size() & 0xff);
  bytes += static_cast<char>(text.size() >> 8);
  return bytes + text + std::string(data_bytes, '\0');
}

// Gives every test its own folder.
class NpyTest : public testing::Test {
 protected:
  NpyTest() {
    std::string folder = absl::StrCat(testing::TempDir(), "/npy_XXXXXX");
    EXPECT_NE(mkdtemp(&folder[0]), nullptr);
    folder_ = folder;
    path_ = absl::StrCat(folder, "/x.npy");
  }

  template <typename T>
  absl::StatusOr<NpyArray<T>> Parse(const std::string& bytes) const {
    // WriteFileAtomically is not used: hundreds of syncs would take seconds.
    std::ofstream(path_, std::ios::binary) << bytes;
    return ReadNpy<T>(path_);
  }

  // The error for a bad float32 file; checks that it names the file.
  absl::Status Refusal(const std::string& bytes) const {
    const absl::Status status = Parse<float>(bytes).status();
    EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
    return status;
  }

  void ExpectRefused(const std::string& bytes, const std::string& message,
                     absl::StatusCode code = absl::StatusCode::kDataLoss) {
    const absl::Status status = Refusal(bytes);
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }

  void ExpectTextRefused(const std::string& text, const std::string& message) {
    ExpectRefused(FileWith(text, 64), message);
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    DIR* folder = opendir(folder_.c_str());
    while (const dirent* entry = readdir(folder)) {
      if (entry->d_name[0] != '.') names.push_back(entry->d_name);
    }
    closedir(folder);
    return names;
  }

  std::string folder_;
  std::string path_;
};

TEST_F(NpyTest, ReadsEveryVersionAndPadding) {
  const auto floats = Parse<float>(Bytes(kFloats));
  ASSERT_TRUE(floats.ok()) << floats.status();
  EXPECT_THAT(floats->shape, ElementsAre(3));
  EXPECT_THAT(floats->elements, ElementsAre(1.0f, -2.5f, 0.15625f));

  const auto integers = Parse<int64_t>(Bytes(kIntegersVersion2));
  ASSERT_TRUE(integers.ok()) << integers.status();
  EXPECT_THAT(integers->shape, ElementsAre(2, 2));
  EXPECT_THAT(integers->elements, ElementsAre(1, -2, 3, int64_t{1} << 40));

  const auto old = Parse<float>(Bytes(kFloatsOldPadding));
  ASSERT_TRUE(old.ok()) << old.status();
  EXPECT_THAT(old->shape, ElementsAre(2, 1));
  EXPECT_THAT(old->elements, ElementsAre(-0.5f, 7.0f));

  const auto version_3 = Parse<float>(Bytes(kFloatVersion3));
  ASSERT_TRUE(version_3.ok()) << version_3.status();
  EXPECT_THAT(version_3->elements, ElementsAre(2.0f));
}

TEST_F(NpyTest, ReadsTheDictionaryInEveryFormThatPythonAccepts) {
  const auto array = Parse<float>(FileWith(
      "\t{ \"shape\" :( 1L ,2 ) ,'fortran_order':False,'descr':'<f4'}\n", 8));
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(array->shape, ElementsAre(1, 2));
}

TEST_F(NpyTest, WritesWhatNumPyWrites) {
  const std::vector<float> values = {1.0f, -2.5f, 0.15625f};
  ASSERT_TRUE(WriteNpy<float>(path_, values).ok());
  EXPECT_EQ(absl::BytesToHexString(*ReadFile(path_)), kFloats);
}

TEST_F(NpyTest, RowsAppendedInPartsComeBackInParts) {
  auto writer = NpyWriter<int64_t>::Create(path_);
  ASSERT_TRUE(writer.ok()) << writer.status();
  std::vector<int64_t> values(12);
  std::iota(values.begin(), values.end(), int64_t{1} << 33);
  ASSERT_TRUE(writer->Append(absl::MakeSpan(values).subspan(0, 5)).ok());
  ASSERT_TRUE(writer->Append(absl::MakeSpan(values).subspan(5)).ok());
  EXPECT_EQ(ReadFile(path_).status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(writer->CommitRows(4).ok());

  const auto reader = NpyReader<int64_t>::Open(path_);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_THAT(reader->shape(), ElementsAre(3, 4));
  std::vector<int64_t> row(4);
  ASSERT_TRUE(reader->Read(4, absl::MakeSpan(row)).ok());
  EXPECT_THAT(row, ElementsAre(values[4], values[5], values[6], values[7]));
}

TEST_F(NpyTest, EmptyArraysHaveAShapeToo) {
  ASSERT_TRUE(WriteNpy<float>(path_, {}).ok());
  EXPECT_THAT(ReadNpy<float>(path_)->shape, ElementsAre(0));
  auto writer = NpyWriter<float>::Create(path_);
  ASSERT_TRUE(writer->CommitRows(7).ok());
  EXPECT_THAT(ReadNpy<float>(path_)->shape, ElementsAre(0, 7));
}

TEST_F(NpyTest, KeepsEveryBitOfAFloat) {
  const std::vector<float> values = {-0.0f,
                                     std::numeric_limits<float>::denorm_min(),
                                     std::numeric_limits<float>::infinity(),
                                     std::numeric_limits<float>::quiet_NaN()};
  ASSERT_TRUE(WriteNpy<float>(path_, values).ok());
  const auto array = ReadNpy<float>(path_);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(memcmp(array->elements.data(), values.data(), 16), 0);
}

TEST_F(NpyTest, WithoutCommitNothingIsLeft) {
  {
    auto writer = NpyWriter<float>::Create(path_);
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE(writer->Append({1.0f}).ok());
  }
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(NpyTest, EveryTruncationIsRefused) {
  for (const char* hex : {kFloats, kFloatsOldPadding, kFloatVersion3}) {
    const std::string bytes = Bytes(hex);
    for (size_t size = 0; size < bytes.size(); ++size) {
      const absl::Status status = Refusal(bytes.substr(0, size));
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << size;
    }
  }
  ExpectRefused(Bytes(kFloats).substr(0, 133),
                "the data have 5 bytes; shape (3,) of float32 needs 12");
  ExpectRefused(Bytes(kFloats).substr(0, 100),
                "the header ends at byte 128, but the file has 100 bytes");
}

// A changed value goes unnoticed: the format has no checksum.
TEST_F(NpyTest, NoChangedByteOfTheHeaderCrashes) {
  const std::string good = Bytes(kFloatsOldPadding);
  for (size_t at = 0; at < good.size() - 8; ++at) {
    for (const int flip : {0x01, 0x10, 0x80, 0xff}) {
      std::string bytes = good;
      bytes[at] = static_cast<char>(bytes[at] ^ flip);
      const auto array = Parse<float>(bytes);
      if (array.ok()) {
        EXPECT_LE(array->elements.size(), 2);
      }
    }
  }
}

TEST_F(NpyTest, BytesAfterTheArrayArePassedOver) {
  const auto array = Parse<float>(Bytes(kFloats) + "more");
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(array->elements, ElementsAre(1.0f, -2.5f, 0.15625f));
}

TEST_F(NpyTest, AnotherFormatOrVersionIsNamed) {
  ExpectRefused("PK\x03\x04 archive",
                "not a .npy file: it begins with \"PK\\x03\\x04 a\"");
  std::string bytes = Bytes(kFloats);
  bytes[6] = 4;
  ExpectRefused(bytes, "version is 4.0; must be 1.0, 2.0 or 3.0");
  bytes[6] = 1;
  bytes[7] = 2;
  ExpectRefused(bytes, "version is 1.2;");
}

TEST_F(NpyTest, AHeaderIsNotBelievedToBeHuge) {
  std::string bytes = Bytes(kFloatVersion3);
  bytes[11] = '\x7f';
  ExpectRefused(bytes, "the header's length is 2130706548 bytes; must be at");
}

TEST_F(NpyTest, AnotherTypeIsNamedWithTheWayToConvertIt) {
  const std::string good =
      "{'descr': '<f4', 'fortran_order': False, "
      "'shape': (2,), }";
  for (const char* descr : {"<f8", ">f4", "<f2", "|u1", "<i8"}) {
    ExpectRefused(FileWith(absl::StrReplaceAll(good, {{"<f4", descr}}), 16),
                  absl::StrCat("dtype ('descr') is '", descr,
                               "'; must be '<f4', little-endian float32"),
                  absl::StatusCode::kInvalidArgument);
  }
  EXPECT_THAT(
      std::string(
          Refusal(FileWith(absl::StrReplaceAll(good, {{"<f4", "<f8"}}), 16))
              .message()),
      HasSubstr("numpy.load(FILE).astype('<f4')"));
  ExpectRefused(
      FileWith(absl::StrReplaceAll(good, {{"'<f4'", "[('a', '<f4')]"}}), 8),
      "the elements are records", absl::StatusCode::kUnimplemented);
  const absl::Status integers = Parse<int64_t>(Bytes(kFloats)).status();
  EXPECT_THAT(std::string(integers.message()),
              HasSubstr("is '<f4'; must be '<i8', little-endian int64"));
}

TEST_F(NpyTest, ColumnsFirstIsRefusedWithTheWayToConvertIt) {
  ExpectRefused(FileWith("{'descr': '<f4', 'fortran_order': True, "
                         "'shape': (2, 2), }",
                         16),
                "numpy.ascontiguousarray", absl::StatusCode::kInvalidArgument);
}

TEST_F(NpyTest, AShapeOfNoOrThreeDimensionsIsRefused) {
  ExpectRefused(
      FileWith("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", 4),
      "shape is (), of 0 dimensions; must have 1 or 2",
      absl::StatusCode::kInvalidArgument);
  ExpectRefused(FileWith("{'descr': '<f4', 'fortran_order': False, "
                         "'shape': (1, 2, 1), }",
                         8),
                "shape is (1, 2, 1), of 3 dimensions",
                absl::StatusCode::kInvalidArgument);
}

TEST_F(NpyTest, AShapeThatNoFileCanHoldIsRefused) {
  const std::string text =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (@), }";
  for (const char* shape :
       {"4611686018427387904,", "4294967296, 4294967296",
        "9223372036854775807, 9223372036854775807", "4611686018427387904, 0"}) {
    ExpectTextRefused(absl::StrReplaceAll(text, {{"@", shape}}),
                      "needs more than 2^63");
  }
  for (const char* shape :
       {"-1,", "1.5,", "nan,", "inf, 2", "9223372036854775808,", "1e3,", ","}) {
    ExpectTextRefused(absl::StrReplaceAll(text, {{"@", shape}}),
                      "'shape' holds ");
  }
}

TEST_F(NpyTest, ADamagedDictionaryIsNamedByItsFault) {
  ExpectTextRefused("", "expected '{' to begin the header");
  ExpectTextRefused("{'descr': '<f4'", "expected '}' to end the header");
  ExpectTextRefused("{'descr'= '<f4'}", "expected ':' after \"descr\"");
  ExpectTextRefused("{'descr': <f4}", "'descr' must be a string");
  ExpectTextRefused("{'descr': '<f4}", "'descr' must be a string");
  ExpectTextRefused("{'fortran_order': 0}", "must be True or False");
  ExpectTextRefused("{'shape': [1]}", "expected '(' to begin 'shape'");
  ExpectTextRefused("{'shape': (1 2)}", "expected ')' to end 'shape'");
  ExpectTextRefused("{'size': 1}", "unknown key \"size\"");
  ExpectTextRefused("{'shape': (1,), 'shape': (1,)}",
                    "the header has \"shape\" twice");
  ExpectTextRefused("{'descr': '<f4', 'shape': (1,)}",
                    "the header has no 'fortran_order'");
  ExpectTextRefused(
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} {}",
      "after the header comes \"{}\"");
}

TEST_F(NpyTest, AFileCutWhileItIsReadIsAnError) {
  std::ofstream(path_, std::ios::binary) << Bytes(kFloats);
  const auto reader = NpyReader<float>::Open(path_);
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_EQ(truncate(path_.c_str(), 132), 0);
  std::vector<float> values(3);
  const absl::Status status = reader->Read(0, absl::MakeSpan(values));
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
}

TEST_F(NpyTest, AMissingFileAFolderAndAPipeAreNotFound) {
  const absl::Status missing = ReadNpy<float>(path_).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("No such file"));
  const absl::Status folder = ReadNpy<float>(folder_).status();
  EXPECT_EQ(folder.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(folder.message()), HasSubstr("it is a folder"));
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const absl::Status pipe = ReadNpy<float>(path_).status();
  EXPECT_EQ(pipe.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(pipe.message()), HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace ps
