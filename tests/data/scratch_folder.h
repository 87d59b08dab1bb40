// A temporary folder for a test, and files in it.
#ifndef TESTS_DATA_SCRATCH_FOLDER_H_
#define TESTS_DATA_SCRATCH_FOLDER_H_

#include <stdlib.h>
#include <sys/stat.h>

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
