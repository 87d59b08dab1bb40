#include "tools/process/worker_pool.h"

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class WorkerPoolTest : public testing::Test {
 protected:
  WorkerPoolTest() : directory_(NewTestDirectory()) {}
  ~WorkerPoolTest() override { fs::remove_all(directory_); }

  // Processes that run this line of shell for each unit, whose number is $unit,
  // and then say that it is done.
  absl::Status Do(const std::string& line, const std::vector<int64_t>& groups,
                  int64_t num_processes) {
    WorkerPoolOptions options;
    options.command = {
        "/bin/sh", "-c",
        absl::StrCat("cd ", directory_.string(), " && while read unit; do ",
                     line, "; echo ok $unit; done")};
    options.num_processes = num_processes;
    options.groups = groups;
    options.progress = [this](int64_t done) { done_ = done; };
    options.lost = [this](const std::string& message) {
      lost_.push_back(message);
    };
    return DoAllUnits(options);
  }

  std::string Contents(const std::string& name) const {
    return ReadFile(directory_ / name).value_or("");
  }

  const fs::path directory_;
  int64_t done_ = 0;
  std::vector<std::string> lost_;
};

TEST_F(WorkerPoolTest, AllUnitsAreDoneOnceAndByGroups) {
  const absl::Status status = Do("echo $unit >> units", {0, 1, 0, 1, 0}, 1);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(done_, 5);
  EXPECT_EQ(Contents("units"), "0\n2\n4\n1\n3\n");
  EXPECT_TRUE(lost_.empty());
}

TEST_F(WorkerPoolTest, MoreProcessesThanUnitsDoThemAll) {
  const absl::Status status = Do("touch $unit", {0, 0, 0}, 8);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(done_, 3);
  for (const char* unit : {"0", "1", "2"}) {
    EXPECT_TRUE(fs::exists(directory_ / unit));
  }
}

TEST_F(WorkerPoolTest, UnitOfAKilledProcessIsDoneByAnother) {
  // The first process that gets unit 2 is killed before it has done it, and
  // the next one after it has written, but not said that it has.
  const absl::Status status =
      Do("if [ $unit = 2 ] && mkdir first 2>/dev/null; then kill -9 $$; fi; "
         "echo $unit >> units; "
         "if [ $unit = 2 ] && mkdir second 2>/dev/null; then kill -9 $$; fi",
         {0, 0, 0, 0, 0}, 2);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(done_, 5);
  ASSERT_EQ(lost_.size(), 2u);
  EXPECT_THAT(lost_[0], HasSubstr("killed by signal 9"));
  EXPECT_THAT(lost_[0], HasSubstr("done again"));
  int units = 0;
  for (const char c : Contents("units")) units += c == '\n';
  EXPECT_EQ(units, 6);
}

TEST_F(WorkerPoolTest, UnitThatEndsEveryProcessIsAnError) {
  const absl::Status status =
      Do("if [ $unit = 1 ]; then echo no memory >&2; exit 3; fi", {0, 0, 0}, 2);
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("exited with code 3: no memory; its "
                                          "unit of work was lost for the 3rd "
                                          "time"));
}

TEST_F(WorkerPoolTest, ErrorOfAProcessEndsTheWork) {
  const absl::Status status =
      Do("if [ $unit = 1 ]; then echo error 5 the file is gone; exit 1; fi",
         {0, 0, 0}, 2);
  EXPECT_EQ(status, absl::NotFoundError("the file is gone"));
  EXPECT_EQ(Do("echo error of some kind; exit 1", {0}, 1),
            absl::AbortedError("of some kind"));
}

TEST_F(WorkerPoolTest, ProgramThatCannotRunIsAnError) {
  WorkerPoolOptions options;
  options.command = {directory_ / "nothing"};
  options.groups = {0};
  EXPECT_TRUE(absl::IsNotFound(DoAllUnits(options)));
}

}  // namespace
}  // namespace ps
