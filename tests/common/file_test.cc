#include "common/file.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/text_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Gives every test its own folder.
class FileTest : public testing::Test {
 protected:
  FileTest() {
    std::string folder = absl::StrCat(testing::TempDir(), "/file_XXXXXX");
    EXPECT_NE(mkdtemp(&folder[0]), nullptr);
    folder_ = folder;
  }

  std::string Path(const std::string& name) const {
    return absl::StrCat(folder_, "/", name);
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
};

TEST_F(FileTest, OnlyRegularFilesAreReadAsData) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  for (const std::string& path :
       {Path("pipe"), std::string("/dev/zero"), folder_}) {
    const absl::Status status = ReadRegularFile(path).status();
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(path), HasSubstr("not a regular file")));
  }
}

TEST_F(FileTest, WhatIsTooLongIsNotRead) {
  // Without blocks.
  ASSERT_TRUE(WriteFileAtomically(Path("huge"), "x").ok());
  ASSERT_EQ(truncate(Path("huge").c_str(), off_t{1} << 42), 0);
  for (const auto& status : {ReadFile(Path("huge")).status(),
                             ReadRegularFile(Path("huge")).status()}) {
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(Path("huge")));
  }
}

TEST_F(FileTest, ReadsWhatWasWritten) {
  for (const size_t size : {0, 1, 4096, 3'000'001}) {
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 >> 3);
    ASSERT_TRUE(WriteFileAtomically(Path("x"), bytes).ok());
    const auto read = ReadFile(Path("x"));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(*read == bytes) << "size " << size;
  }
}

TEST_F(FileTest, ReadsAFileThatDoesNotTellItsSize) {
  const auto read = ReadFile("/proc/self/status");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(*read, HasSubstr(absl::StrCat("Pid:\t", getpid())));
}

TEST_F(FileTest, TextHasNoByteOrderMark) {
  const std::string path = Path("text");
  ASSERT_TRUE(WriteFileAtomically(path, "\xef\xbb\xbfthe \xef\xbb\xbf").ok());
  for (const auto& read : {ReadText(path), ReadRegularText(path)}) {
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, "the \xef\xbb\xbf");
  }
  for (const char* utf16 : {"\xff\xfet", "\xfe\xff"}) {
    ASSERT_TRUE(WriteFileAtomically(path, utf16).ok());
    const absl::Status status = ReadText(path).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(path + ": the text is UTF-16"));
  }
}

TEST_F(FileTest, AMissingFileIsNotFoundByPathAndReason) {
  const absl::Status status = ReadFile(Path("nothing")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr(Path("nothing")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("No such file"));
}

TEST_F(FileTest, AFolderIsNotAFile) {
  const absl::Status status = ReadFile(folder_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("it is a folder"));
}

TEST_F(FileTest, ReplacesAFileAndLeavesNothingElse) {
  ASSERT_TRUE(WriteFileAtomically(Path("x"), "a longer text").ok());
  ASSERT_TRUE(WriteFileAtomically(Path("x"), "new").ok());
  EXPECT_EQ(*ReadFile(Path("x")), "new");
  EXPECT_THAT(Names(), ElementsAre("x"));
}

TEST_F(FileTest, NothingShowsBeforeCommit) {
  ASSERT_TRUE(WriteFileAtomically(Path("x"), "old").ok());
  auto file = AtomicFile::Create(Path("x"));
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Append("ne").ok());
  ASSERT_TRUE(file->Append("w").ok());
  EXPECT_EQ(*ReadFile(Path("x")), "old");
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(*ReadFile(Path("x")), "new");
}

TEST_F(FileTest, OverwritesWithinWhatWasAppended) {
  auto file = AtomicFile::Create(Path("x"));
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Append("count=?; text").ok());
  ASSERT_TRUE(file->Overwrite(6, "7").ok());
  ASSERT_TRUE(file->Append(" goes on").ok());
  ASSERT_TRUE(file->Commit().ok());
  EXPECT_EQ(*ReadFile(Path("x")), "count=7; text goes on");
}

TEST_F(FileTest, WithoutCommitTheTemporaryIsRemoved) {
  {
    auto file = AtomicFile::Create(Path("x"));
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE(file->Append("half").ok());
    EXPECT_EQ(Names().size(), 1);
    const AtomicFile moved = *std::move(file);
    EXPECT_EQ(Names().size(), 1);
  }
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(FileTest, AFailedCommitRemovesTheTemporaryAndNamesThePath) {
  // A folder cannot be replaced by a file.
  ASSERT_EQ(mkdir(Path("x").c_str(), 0755), 0);
  const absl::Status status = WriteFileAtomically(Path("x"), "text");
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(Path("x")));
  EXPECT_THAT(Names(), ElementsAre("x"));
}

TEST_F(FileTest, AFailedWriteLeavesTheOldFile) {
  ASSERT_TRUE(WriteFileAtomically(Path("x"), "old").ok());
  // The system refuses to let a file grow beyond its limit, as a full disk
  // would.
  struct rlimit old_limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  struct rlimit limit = old_limit;
  limit.rlim_cur = 1000;
  signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const absl::Status status =
      WriteFileAtomically(Path("x"), std::string(2000, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("cannot write ", Path("x"))));
  EXPECT_EQ(*ReadFile(Path("x")), "old");
  EXPECT_THAT(Names(), ElementsAre("x"));
}

TEST_F(FileTest, FollowsLinksAndReplacesNoDevice) {
  ASSERT_TRUE(WriteFileAtomically(Path("target"), "old").ok());
  std::filesystem::create_symlink(Path("target"), Path("link"));
  ASSERT_TRUE(WriteFileAtomically(Path("link"), "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(Path("link")));
  EXPECT_EQ(*ReadFile(Path("target")), "new");
  std::filesystem::create_symlink("/dev/null", Path("null"));
  ASSERT_TRUE(WriteFileAtomically(Path("null"), "nothing").ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  std::filesystem::create_symlink("/dev/full", Path("full"));
  const absl::Status full = WriteFileAtomically(Path("full"), "much");
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST_F(FileTest, AMissingFolderIsNotFound) {
  const absl::Status status = WriteFileAtomically(Path("no/x"), "text");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr(Path("no/x")));
}

TEST_F(FileTest, AllowsWhatTheUmaskAllows) {
  const mode_t old_mask = umask(027);
  ASSERT_TRUE(WriteFileAtomically(Path("x"), "text").ok());
  umask(old_mask);
  struct stat info;
  ASSERT_EQ(stat(Path("x").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640);
}

}  // namespace
}  // namespace ps
