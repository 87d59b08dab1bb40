#include "common/log_limit.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/manual_clock.h"

namespace ps {
namespace {

using ::testing::ElementsAre;

TEST(LogLimitTest, LinesBeyondTheLimitAreCounted) {
  ManualClock clock;
  LogLimit limit(2, absl::Seconds(10), &clock);
  std::vector<std::string> lines;
  const auto log = [&](const std::string& text) {
    limit.Log(text, [&](const std::string& line) { lines.push_back(line); });
  };
  for (const char* text : {"a", "b", "c", "d"}) log(text);
  clock.Advance(absl::Seconds(10));
  log("e");
  log("f");
  clock.Advance(absl::Hours(1));
  for (const char* text : {"g", "h", "i"}) log(text);
  EXPECT_THAT(lines, ElementsAre("a", "b", "e (2 such lines were left out)",
                                 "g (1 such lines were left out)", "h"));
}

TEST(LogLimitTest, WhateverIsInTheTextIsOneShortPrintableLine) {
  LogLimit limit(2, absl::Seconds(10));
  std::vector<std::string> lines;
  const auto log = [&](const std::string& line) { lines.push_back(line); };
  limit.Log("x\n\x1b[2Jy\xff", log);
  limit.Log(std::string(1 << 20, 'z'), log);
  EXPECT_EQ(lines[0], "x  [2Jy ");
  EXPECT_EQ(lines[1], std::string(2000, 'z') + " ...");
}

}  // namespace
}  // namespace ps
