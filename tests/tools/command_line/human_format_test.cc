#include "tools/command_line/human_format.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

TEST(FormatBytesTest, ThreeDigitsAndADecimalUnit) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(999), "999 B");
  EXPECT_EQ(FormatBytes(1000), "1.00 kB");
  EXPECT_EQ(FormatBytes(12'345), "12.3 kB");
  EXPECT_EQ(FormatBytes(123'456'789), "123 MB");
  EXPECT_EQ(FormatBytes(5'000'000'000), "5.00 GB");
  EXPECT_EQ(FormatBytes(INT64_MAX), "9.22 EB");
  EXPECT_EQ(FormatBytes(-1500), "-1.50 kB");
}

TEST(FormatBytesTest, WhatRoundsUpToAPowerOfTenStaysThreeDigits) {
  EXPECT_EQ(FormatBytes(9'994), "9.99 kB");
  EXPECT_EQ(FormatBytes(9'996), "10.0 kB");
  EXPECT_EQ(FormatBytes(99'960), "100 kB");
  EXPECT_EQ(FormatBytes(999'499), "999 kB");
  EXPECT_EQ(FormatBytes(999'500), "1.00 MB");
}

TEST(FormatTimeSpanTest, TheTwoUnitsThatMatter) {
  EXPECT_EQ(FormatTimeSpan(absl::ZeroDuration()), "0 ms");
  EXPECT_EQ(FormatTimeSpan(absl::Milliseconds(850)), "850 ms");
  EXPECT_EQ(FormatTimeSpan(absl::Milliseconds(4230)), "4.2 s");
  EXPECT_EQ(FormatTimeSpan(absl::Seconds(42)), "42 s");
  EXPECT_EQ(FormatTimeSpan(absl::Seconds(130)), "2m 10s");
  EXPECT_EQ(FormatTimeSpan(absl::Minutes(185)), "3h 05m");
  EXPECT_EQ(FormatTimeSpan(absl::Hours(51)), "2d 03h");
  EXPECT_EQ(FormatTimeSpan(absl::Seconds(-2)), "-2.0 s");
  EXPECT_EQ(FormatTimeSpan(absl::InfiniteDuration()), "?");
}

TEST(FormatTimeSpanTest, NeverSixtySecondsNorSixtyMinutes) {
  EXPECT_EQ(FormatTimeSpan(absl::Milliseconds(999.7)), "1.0 s");
  EXPECT_EQ(FormatTimeSpan(absl::Milliseconds(9'960)), "10 s");
  EXPECT_EQ(FormatTimeSpan(absl::Milliseconds(59'700)), "1m 00s");
  EXPECT_EQ(FormatTimeSpan(absl::Milliseconds(3'599'700)), "1h 00m");
  EXPECT_EQ(FormatTimeSpan(absl::Hours(24)), "1d 00h");
}

TEST(FormatCountTest, ThousandsAreApart) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(1'234'567), "1,234,567");
  EXPECT_EQ(FormatCount(-123), "-123");
  EXPECT_EQ(FormatCount(-1234), "-1,234");
}

TEST(FormatNumberTest, ThreeDigitsWithoutAnExponent) {
  EXPECT_EQ(FormatNumber(0), "0.000");
  EXPECT_EQ(FormatNumber(0.1234), "0.123");
  EXPECT_EQ(FormatNumber(0.9996), "1.00");
  EXPECT_EQ(FormatNumber(-12.34), "-12.3");
  EXPECT_EQ(FormatNumber(99.96), "100");
  EXPECT_EQ(FormatNumber(1234.5), "1234");
}

}  // namespace
}  // namespace ps
