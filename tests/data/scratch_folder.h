// A temporary folder for a test, and files in it.
#ifndef TESTS_DATA_SCRATCH_FOLDER_H_
#define TESTS_DATA_SCRATCH_FOLDER_H_

#include <linux/capability.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/file.h"
#include "gtest/gtest.h"

namespace ps {

class ScratchFolder {
 public:
  ScratchFolder() : path_(absl::StrCat(testing::TempDir(), "/data_XXXXXX")) {
    EXPECT_NE(mkdtemp(&path_[0]), nullptr);
  }

  const std::string& path() const { return path_; }

  void MakeFolder(const std::string& name) const {
    EXPECT_EQ(mkdir(absl::StrCat(path_, "/", name).c_str(), 0700), 0) << name;
  }

  void Write(const std::string& name, absl::string_view bytes) const {
    EXPECT_TRUE(WriteFileAtomically(absl::StrCat(path_, "/", name), bytes).ok())
        << name;
  }

 private:
  std::string path_;
};

// While it lives, permissions of files count for this thread even if it is
// root.
class WithoutOverride {
 public:
  WithoutOverride() {
    EXPECT_EQ(syscall(SYS_capget, &header_, before_), 0);
    __user_cap_data_struct fewer[2] = {before_[0], before_[1]};
    fewer[0].effective &= ~(1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH);
    EXPECT_EQ(syscall(SYS_capset, &header_, fewer), 0);
  }
  ~WithoutOverride() { EXPECT_EQ(syscall(SYS_capset, &header_, before_), 0); }

 private:
  __user_cap_header_struct header_ = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct before_[2] = {};
};

// The folder of real data with this name in GRADSIEVE_SHARED; empty if there is
// none.
inline std::string RealData(const std::string& name) {
  const char* shared = getenv("GRADSIEVE_SHARED");
  if (shared == nullptr) return "";
  const std::string path = absl::StrCat(shared, "/data/", name);
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? path : "";
}

}  // namespace ps

#endif  // TESTS_DATA_SCRATCH_FOLDER_H_
