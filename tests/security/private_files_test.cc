#include "security/private_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class PrivateFiles : public testing::Test {
 protected:
  PrivateFiles() {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    std::ofstream(key_) << "secret";
  }

  static void SetMode(const std::string& path, mode_t mode) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0) << path;
  }

  const std::string folder_ = testing::TempDir() + "/private_files";
  const std::string key_ = folder_ + "/key";
};

TEST_F(PrivateFiles, AFolderMustBeClosedToOthers) {
  for (const mode_t open : {0755, 0710, 0701, 0770, 0777}) {
    SetMode(folder_, open);
    const absl::Status status = CheckPrivateFolder(folder_);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("chmod 700 " + folder_));
  }
  SetMode(folder_, 0700);
  EXPECT_TRUE(CheckPrivateFolder(folder_).ok()) << CheckPrivateFolder(folder_);
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckPrivateFolder(key_)));
  EXPECT_TRUE(absl::IsNotFound(CheckPrivateFolder(folder_ + "/none")));
}

TEST_F(PrivateFiles, AKeyMustBeClosedToOthers) {
  for (const mode_t open : {0644, 0604, 0620, 0602}) {
    SetMode(key_, open);
    const absl::Status status = CheckPrivateKeyFile(key_);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << open << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("chmod 600 " + key_));
  }
  for (const mode_t closed : {0600, 0400}) {
    SetMode(key_, closed);
    EXPECT_TRUE(CheckPrivateKeyFile(key_).ok()) << CheckPrivateKeyFile(key_);
  }
  // Root's files may be readable by their group, which Kubernetes sets.
  SetMode(key_, 0440);
  EXPECT_EQ(CheckPrivateKeyFile(key_).ok(), geteuid() == 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckPrivateKeyFile(folder_)));
  EXPECT_TRUE(absl::IsNotFound(CheckPrivateKeyFile(folder_ + "/none")));
}

}  // namespace
}  // namespace ps
