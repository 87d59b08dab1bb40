#include "common/run_directory.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

namespace fs = std::filesystem;

// In a folder of its own as the working directory.
class RunDirectoryTest : public testing::Test {
 protected:
  RunDirectoryTest() : before_(fs::current_path()) {
    std::string folder = testing::TempDir() + "/runs.XXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    fs::current_path(folder);
  }
  ~RunDirectoryTest() override {
    const fs::path folder = fs::current_path();
    fs::current_path(before_);
    fs::remove_all(folder);
  }

 private:
  const fs::path before_;
};

constexpr int kThreads = 8;

TEST_F(RunDirectoryTest, RunsThatBeginInTheSameSecondHaveTheirOwn) {
  std::vector<absl::StatusOr<std::string>> made(kThreads);
  std::vector<std::thread> threads;
  for (auto& each : made) {
    threads.emplace_back([&each] { each = MakeDefaultRunDirectory("a/b"); });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> paths;
  for (const auto& each : made) {
    ASSERT_TRUE(each.ok()) << each.status();
    EXPECT_TRUE(absl::StartsWith(*each, "runs/a_b-")) << *each;
    EXPECT_TRUE(fs::is_directory(*each)) << *each;
    paths.insert(*each);
  }
  EXPECT_EQ(paths.size(), kThreads);
}

TEST_F(RunDirectoryTest, OnlyOneProcessTakesAFolder) {
  fs::create_directory("empty");
  std::atomic<int> num_taken{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&num_taken] {
      const absl::Status made = MakeRunDirectory("empty");
      EXPECT_TRUE(made.ok() || absl::IsAlreadyExists(made)) << made;
      if (made.ok()) ++num_taken;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_taken, 1);
}

TEST_F(RunDirectoryTest, WhatCannotBeAFolderIsNamed) {
  std::ofstream("file") << "x";
  const absl::Status status = MakeRunDirectory("file/run");
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(absl::StrContains(
      status.message(), "cannot make the run directory file/run (--run-dir)"))
      << status;
}

}  // namespace
}  // namespace ps
