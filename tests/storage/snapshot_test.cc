#include "storage/snapshot.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/storage/memory_files.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

absl::Status Save(Files* files, int64_t number, const std::string& what) {
  absl::StatusOr<SnapshotWriter> writer =
      SnapshotWriter::Create(files, "here", number);
  absl::Status status = writer.status();
  if (status.ok()) status = writer->Add("weights", what);
  if (status.ok()) status = writer->Add("state", std::string(300, 's'));
  return status.ok() ? writer->Commit("about " + what) : status;
}

// "" if a snapshot of this number is not whole.
std::string Saved(Files* files, int64_t number) {
  const auto snapshot = OpenSnapshot(files, "here", number);
  if (!snapshot.ok()) return "";
  return ReadPart(files, *snapshot, "weights").value_or("");
}

TEST(Snapshot, IsReadAsItWasWritten) {
  for (const bool real : {false, true}) {
    MemoryFiles in_memory;
    Files* const files = real ? Files::Real() : &in_memory;
    const std::string folder = ::testing::TempDir() + "/snapshots/deep";
    ASSERT_TRUE(files->Remove(folder).ok());
    EXPECT_THAT(*ListSnapshots(files, folder), IsEmpty());
    for (const int64_t number : {0, 30, 4}) {
      auto writer = SnapshotWriter::Create(files, folder, number);
      ASSERT_TRUE(writer.ok()) << writer.status();
      ASSERT_TRUE(writer->Add("weights", "old").ok());
      ASSERT_TRUE(writer->Commit("").ok());
    }
    // The same number again.
    auto writer = SnapshotWriter::Create(files, folder, 30);
    ASSERT_TRUE(writer->Add("weights", std::string("a\0b", 3)).ok());
    ASSERT_TRUE(writer->Add("empty", "").ok());
    ASSERT_TRUE(writer->Commit("a \"note\"\n").ok());
    EXPECT_THAT(*ListSnapshots(files, folder), ElementsAre(0, 4, 30));
    const auto snapshot = OpenSnapshot(files, folder, 30);
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    EXPECT_EQ(snapshot->note, "a \"note\"\n");
    EXPECT_THAT(snapshot->parts, SizeIs(2));
    EXPECT_EQ(*ReadPart(files, *snapshot, "weights"), std::string("a\0b", 3));
    EXPECT_EQ(*ReadPart(files, *snapshot, "empty"), "");
    EXPECT_TRUE(absl::IsNotFound(ReadPart(files, *snapshot, "other").status()));
    EXPECT_TRUE(VerifySnapshot(files, folder, 30).ok());
  }
}

TEST(Snapshot, OldOnesAndUnfinishedOnesAreRemoved) {
  MemoryFiles files;
  for (const int64_t number : {1, 2, 3}) {
    ASSERT_TRUE(Save(&files, number, "x").ok());
  }
  auto unfinished = SnapshotWriter::Create(&files, "here", 4);
  ASSERT_TRUE(unfinished->Add("weights", "y").ok());
  ASSERT_TRUE(RemoveOlder(&files, "here", 1, /*needed=*/2).ok());
  EXPECT_THAT(*files.List("here"), ElementsAre("snapshot-2", "snapshot-3"));
  ASSERT_TRUE(RemoveOlder(&files, "here", 1, /*needed=*/3).ok());
  EXPECT_THAT(*files.List("here"), ElementsAre("snapshot-3"));
}

// Every file cut anywhere, missing, or with any bit flipped.
TEST(Snapshot, DamageIsFoundAndNamed) {
  MemoryFiles files;
  ASSERT_TRUE(Save(&files, 7, "weights").ok());
  const auto whole = files.contents();
  ASSERT_THAT(whole, SizeIs(3));
  const auto expect_named = [&](const std::string& path) {
    const absl::Status status = VerifySnapshot(&files, "here", 7);
    EXPECT_TRUE(absl::IsDataLoss(status)) << path << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
    files.contents() = whole;
  };
  for (const auto& [path, content] : whole) {
    for (size_t size = 0; size < content.bytes.size(); ++size) {
      files.contents()[path].bytes.resize(size);
      expect_named(path);
    }
    for (size_t bit = 0; bit < 8 * content.bytes.size(); ++bit) {
      files.contents()[path].bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
      expect_named(path);
    }
    files.contents()[path].bytes += '\n';
    expect_named(path);
  }
  files.contents().erase("here/snapshot-7/state");
  expect_named("here/snapshot-7/state");
}

// A process that is killed at any moment has removed a snapshot or not.
TEST(Snapshot, NoneIsRemovedByHalf) {
  for (const bool older : {false, true}) {
    int64_t changes = 0;
    for (bool failed = true; failed; ++changes) {
      MemoryFiles files;
      for (const int64_t number : {1, 2, 3}) {
        ASSERT_TRUE(Save(&files, number, "x").ok());
      }
      files.FailAfter(changes);
      const absl::Status removed =
          older ? RemoveOlder(&files, "here", /*keep=*/1, /*needed=*/3)
                : RemoveNewer(&files, "here", 1);
      failed = !removed.ok();
      files.StopFailing();
      const auto numbers = *ListSnapshots(&files, "here");
      for (const int64_t number : numbers) {
        const absl::Status whole = VerifySnapshot(&files, "here", number);
        EXPECT_TRUE(whole.ok()) << changes << ": " << whole;
      }
      EXPECT_TRUE(RemoveOlder(&files, "here", 3, /*needed=*/3).ok());
      EXPECT_LE(files.List("here")->size(), 3u) << "the rest is swept";
    }
    EXPECT_GT(changes, 8) << "nothing failed";
  }
}

// Whatever fails, and also if the power is lost then, an earlier snapshot stays
// and a later one is whole or not there.
TEST(Snapshot, FailuresLoseNothing) {
  for (const bool power : {false, true}) {
    int64_t changes = 0;
    for (bool failed = true; failed; ++changes) {
      MemoryFiles files;
      ASSERT_TRUE(Save(&files, 1, "first").ok());
      files.FailAfter(changes);
      const absl::Status status = Save(&files, 2, "second");
      failed = files.failed();
      files.StopFailing();
      if (power) files.LosePower();
      EXPECT_EQ(Saved(&files, 1), "first") << changes;
      const auto numbers = *ListSnapshots(&files, "here");
      if (status.ok()) {
        EXPECT_EQ(Saved(&files, 2), "second");
      } else {
        EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
        EXPECT_THAT(numbers, ElementsAre(1));
      }
      EXPECT_TRUE(Save(&files, 2, "again").ok());
      EXPECT_EQ(Saved(&files, 2), "again");
    }
    EXPECT_GT(changes, 8) << "nothing failed";
  }
}

}  // namespace
}  // namespace ps
