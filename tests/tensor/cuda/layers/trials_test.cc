// Which of several ways of doing the same work is picked.

#include "tensor/cuda/libraries/trials.h"

#include <functional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/common/log_messages.h"

namespace ps {
namespace {

// Ways that take given times, each one a run after the other.
class Ways {
 public:
  // The times of the timed runs of each way; none: its runs fail.
  explicit Ways(std::vector<std::vector<int>> milliseconds)
      : milliseconds_(std::move(milliseconds)), runs_(milliseconds_.size()) {}

  int Pick(Trials* trials, const char* work = "work") {
    return trials->Fastest(work, static_cast<int>(runs_.size()), [this](int i) {
      running_ = i;
      ++runs_[i];
      return milliseconds_[i].empty() ? absl::InternalError("does not run")
                                      : absl::OkStatus();
    });
  }

  TimeWork Timer() {
    return [this](const std::function<absl::Status()>& work)
               -> absl::StatusOr<absl::Duration> {
      const absl::Status status = work();
      if (!status.ok()) return status;
      // The first run was not timed.
      return absl::Milliseconds(
          milliseconds_[running_].at(runs_[running_] - 2));
    };
  }

  const std::vector<int>& runs() const { return runs_; }

 private:
  const std::vector<std::vector<int>> milliseconds_;
  std::vector<int> runs_;
  int running_ = 0;
};

TEST(Trials, TheShortestTimeCountsAndSlowOnesAreNotRunAgain) {
  Ways ways({{5, 4, 6}, {9}, {9, 3, 9}, {4, 4, 4}});
  Trials trials(ways.Timer());
  EXPECT_EQ(ways.Pick(&trials), 0);
  EXPECT_EQ(ways.runs(), (std::vector<int>{4, 2, 2, 4}));
  Ways others({{5, 5, 5}, {4, 2, 6}, {3, 3, 3}});
  Trials again(others.Timer());
  EXPECT_EQ(others.Pick(&again), 1);
}

TEST(Trials, WhatFailsIsPassedOverAndSaid) {
  Ways ways({{}, {5, 5, 5}, {}});
  Trials trials(ways.Timer());
  const LogMessages log;
  EXPECT_EQ(ways.Pick(&trials), 1);
  ASSERT_EQ(log.all().size(), 1);
  EXPECT_TRUE(absl::StrContains(log.all()[0], "does not run")) << log.all()[0];
  Ways failing({{}, {}});
  EXPECT_EQ(failing.Pick(&trials, "other work"), 0);
}

TEST(Trials, WorkOfOneNameIsTriedOnce) {
  Ways ways({{2, 2, 2}, {1, 1, 1}});
  Trials trials(ways.Timer());
  EXPECT_EQ(ways.Pick(&trials), 1);
  EXPECT_EQ(ways.Pick(&trials), 1);
  EXPECT_EQ(ways.runs(), (std::vector<int>{4, 4}));
}

TEST(Trials, NothingIsTriedWithoutAChoiceOrWithoutTime) {
  Ways one({{1, 1, 1}});
  Trials trials(one.Timer());
  EXPECT_EQ(one.Pick(&trials), 0);
  EXPECT_EQ(one.runs(), std::vector<int>{0});
  Ways ways({{2, 2, 2}, {1, 1, 1}});
  Trials without_time(ways.Timer(), absl::ZeroDuration());
  EXPECT_EQ(ways.Pick(&without_time), 0);
  EXPECT_EQ(ways.runs(), (std::vector<int>{0, 0}));
}

}  // namespace
}  // namespace ps
