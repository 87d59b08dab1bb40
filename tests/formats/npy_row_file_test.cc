#include "formats/npy_row_file.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "formats/npy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NpyRowFileTest : public testing::Test {
 protected:
  NpyRowFileTest() {
    std::string folder = absl::StrCat(testing::TempDir(), "/rows_XXXXXX");
    EXPECT_NE(mkdtemp(&folder[0]), nullptr);
    path_ = absl::StrCat(folder, "/x.npy");
  }

  std::string path_;
};

TEST_F(NpyRowFileTest, IsAnArrayAfterEveryRow) {
  auto file = NpyRowFile::Create(path_, 3);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_THAT(ReadNpy<float>(path_)->shape, ElementsAre(0, 3));
  ASSERT_TRUE(file->Append({1.0f, 2.0f, 3.0f}).ok());
  EXPECT_THAT(ReadNpy<float>(path_)->elements, ElementsAre(1.0f, 2.0f, 3.0f));
  ASSERT_TRUE(file->Append({4.0f, 5.0f, 6.0f}).ok());
  EXPECT_EQ(file->rows(), 2);
  ASSERT_TRUE(file->Close().ok());
  const auto array = ReadNpy<float>(path_);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(array->shape, ElementsAre(2, 3));
  EXPECT_THAT(array->elements, ElementsAre(1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f));
}

TEST_F(NpyRowFileTest, ReplacesAFileThatWasThere) {
  ASSERT_TRUE(WriteFileAtomically(path_, std::string(5000, 'x')).ok());
  const auto file = NpyRowFile::Create(path_, 2);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(ReadFile(path_)->size(), 128);
}

TEST_F(NpyRowFileTest, AFailedRowLeavesTheRowsBefore) {
  auto file = NpyRowFile::Create(path_, 100);
  ASSERT_TRUE(file.ok()) << file.status();
  const std::vector<float> row(100, 1.5f);
  ASSERT_TRUE(file->Append(row).ok());
  // The system refuses to let a file grow beyond its limit, as a full disk
  // would: the second row gets half of its bytes.
  struct rlimit old_limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  struct rlimit limit = old_limit;
  limit.rlim_cur = 128 + 600;
  signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const absl::Status status = file->Append(row);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("cannot write row 1 of ", path_)));
  EXPECT_EQ(file->rows(), 1);
  const auto array = ReadNpy<float>(path_);
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(array->shape, ElementsAre(1, 100));
  // The file can grow again when there is room.
  ASSERT_TRUE(file->Append(row).ok());
  EXPECT_THAT(ReadNpy<float>(path_)->shape, ElementsAre(2, 100));
}

TEST_F(NpyRowFileTest, AMissingFolderIsNamed) {
  const absl::Status status =
      NpyRowFile::Create(path_ + "/no/x.npy", 1).status();
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("cannot create"), HasSubstr("/no/x.npy")));
}

}  // namespace
}  // namespace ps
