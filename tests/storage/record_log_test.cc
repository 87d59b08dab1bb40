#include "storage/record_log.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "storage/crc32c.h"
#include "tests/storage/memory_files.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The examples of RFC 3720, appendix B.4, and the usual check value.
TEST(Crc32c, HasThePublishedValues) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string ascending;
  for (char c = 0; c < 32; ++c) ascending += c;
  EXPECT_EQ(Crc32c(ascending), 0x46dd794eu);
  EXPECT_EQ(Crc32c(""), 0u);
  for (size_t cut = 0; cut <= ascending.size(); ++cut) {
    EXPECT_EQ(Crc32c(ascending.substr(cut), Crc32c(ascending.substr(0, cut))),
              0x46dd794eu);
  }
}

const std::vector<std::string> kRecords = {"first", "", std::string(200, 'x')};

// Three records, the last one in two pieces.
std::string WriteThree(Files* files, const std::string& path) {
  auto writer = RecordLogWriter::Create(files, path);
  EXPECT_TRUE(writer.ok()) << writer.status();
  const absl::string_view last = kRecords[2];
  EXPECT_TRUE(writer->Append({kRecords[0]}).ok());
  EXPECT_TRUE(writer->Append({}).ok());
  EXPECT_TRUE(writer->Append({last.substr(0, 70), last.substr(70)}).ok());
  const std::string bytes = *files->Read(path);
  EXPECT_EQ(writer->size_bytes(), static_cast<int64_t>(bytes.size()));
  return bytes;
}

TEST(RecordLog, IsReadAsItWasWritten) {
  for (const bool real : {false, true}) {
    MemoryFiles in_memory;
    Files* const files = real ? Files::Real() : &in_memory;
    const std::string path = ::testing::TempDir() + "/a.log";
    ASSERT_TRUE(files->Remove(path).ok());
    WriteThree(files, path);
    EXPECT_TRUE(
        absl::IsAlreadyExists(RecordLogWriter::Create(files, path).status()));
    const auto reader = RecordLogReader::Open(files, path);
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_THAT(reader->records(),
                ElementsAre(kRecords[0], kRecords[1], kRecords[2]));
    EXPECT_EQ(reader->incomplete_bytes(), 0);
    ASSERT_TRUE(reader->Continue(files)->Append({"more"}).ok());
    EXPECT_EQ(RecordLogReader::Open(files, path)->records().back(), "more");
  }
}

// A process that dies while it writes leaves a part of the last record.
TEST(RecordLog, GoesOnBehindTheLastWholeRecord) {
  MemoryFiles files;
  const std::string whole = WriteThree(&files, "log");
  size_t last_count = 3;
  for (size_t size = whole.size(); size-- > 0;) {
    files.contents()["log"].bytes = whole.substr(0, size);
    const auto reader = RecordLogReader::Open(&files, "log");
    if (!reader.ok()) {
      EXPECT_LT(size, 16u) << reader.status();
      EXPECT_THAT(std::string(reader.status().message()),
                  HasSubstr("log is damaged at byte 0"));
      continue;
    }
    const size_t count = reader->records().size();
    EXPECT_LE(count, last_count);
    last_count = count;
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(reader->records()[i], kRecords[i]);
    }
    ASSERT_TRUE(reader->Continue(&files)->Append({"more"}).ok());
    const auto again = RecordLogReader::Open(&files, "log");
    ASSERT_TRUE(again.ok()) << again.status();
    ASSERT_EQ(again->records().size(), count + 1);
    EXPECT_EQ(again->records()[count], "more");
    EXPECT_EQ(again->incomplete_bytes(), 0);
  }
  EXPECT_EQ(last_count, 0u);
}

TEST(RecordLog, AFlippedBitIsFoundAndNamed) {
  MemoryFiles files;
  const std::string whole = WriteThree(&files, "log");
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string& bytes = files.contents()["log"].bytes;
    bytes = whole;
    bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
    const auto reader = RecordLogReader::Open(&files, "log");
    EXPECT_TRUE(absl::IsDataLoss(reader.status())) << bit;
    EXPECT_THAT(std::string(reader.status().message()),
                HasSubstr("log is damaged at byte "));
  }
}

// After a failure the end of the file is unknown, so nothing follows it.
TEST(RecordLog, AFullDiskEndsIt) {
  MemoryFiles files;
  auto writer = RecordLogWriter::Create(&files, "log");
  files.FailAfter(1);
  EXPECT_TRUE(writer->Append({"kept"}).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(writer->Append({"lost"})));
  files.StopFailing();
  EXPECT_TRUE(absl::IsResourceExhausted(writer->Append({"late"})));
  const auto reader = RecordLogReader::Open(&files, "log");
  EXPECT_THAT(reader->records(), ElementsAre("kept"));
  EXPECT_GT(reader->incomplete_bytes(), 0);
}

TEST(RecordLog, WhatWasSyncedSurvivesALossOfPower) {
  MemoryFiles files;
  auto writer = RecordLogWriter::Create(&files, "log");
  ASSERT_TRUE(writer->Append({"safe"}).ok());
  ASSERT_TRUE(writer->Sync().ok());
  ASSERT_TRUE(writer->Append({"risked"}).ok());
  files.LosePower();
  EXPECT_THAT(RecordLogReader::Open(&files, "log")->records(),
              ElementsAre("safe"));
}

}  // namespace
}  // namespace ps
