#include "tools/bench/network/bandwidth.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Bandwidth, IsANumberWithItsUnit) {
  EXPECT_EQ(*ParseBandwidth("1mbit"), 1'000'000);
  EXPECT_EQ(*ParseBandwidth("2500kbit"), 2'500'000);
  EXPECT_EQ(*ParseBandwidth("2.5gbit"), 2'500'000'000);
  EXPECT_EQ(*ParseBandwidth("100gbit"), 100'000'000'000);
}

TEST(Bandwidth, EverythingElseIsRefusedWithTheRule) {
  for (const char* text :
       {"", "100", "mbit", "100 Mbit/s", "100mbit/s", "100mbyte", "-1gbit",
        "nangbit", "infgbit", "999kbit", "101gbit", "1e30gbit", "0mbit"}) {
    const absl::StatusOr<int64_t> bits = ParseBandwidth(text);
    ASSERT_EQ(bits.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(bits.status().message()),
                AllOf(HasSubstr(std::string("\"") + text + "\"; must be"),
                      HasSubstr("from 1mbit to 100gbit")));
  }
}

TEST(Bandwidth, IsWrittenWithThreeDigits) {
  EXPECT_EQ(FormatBandwidth(1e9), "1.00 Gbit/s");
  EXPECT_EQ(FormatBandwidth(95.23e6), "95.2 Mbit/s");
  EXPECT_EQ(FormatBandwidth(191.7e6), "192 Mbit/s");
  EXPECT_EQ(FormatBandwidth(999.7e6), "1.00 Gbit/s");
  EXPECT_EQ(FormatBandwidth(1e5), "100 kbit/s");
}

}  // namespace
}  // namespace ps
