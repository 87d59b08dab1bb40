#include "tools/process/port_range.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

TEST(PortRange, RangesThatShareAPortAreNamed) {
  EXPECT_EQ(CheckPortRanges(
                {{"--page", "9092"}, {"--metrics-listen", "0.0.0.0:9090", 4}}),
            absl::InvalidArgumentError(
                "--page (port 9092) and --metrics-listen (ports 9090 to 9093) "
                "share port 9092 of one machine; choose other ports for one of "
                "them"));
  EXPECT_TRUE(absl::IsInvalidArgument(CheckPortRanges(
      {{"--port", "10.0.0.1:50051", 2}, {"--page", "localhost:50052"}})));
  EXPECT_TRUE(absl::IsInvalidArgument(
      CheckPortRanges({{"--port", "[::]:50051", 2}, {"--page", "50051"}})));
}

TEST(PortRange, OthersPass) {
  for (const char* page : {"9089", "9094", "0", "nowhere", ""}) {
    EXPECT_TRUE(
        CheckPortRanges({{"--page", page}, {"--metrics-listen", "9090", 4}})
            .ok())
        << page;
  }
  EXPECT_TRUE(CheckPortRanges({{"--page", "127.0.0.1:9090"},
                               {"--metrics-listen", "127.0.0.2:9090"},
                               {"--port", "127.0.0.1:9090", 0}})
                  .ok());
}

TEST(PortRange, ARangeBeyondTheLastPortIsNamedAsItWasTyped) {
  EXPECT_TRUE(CheckPortRanges({{"--metrics-listen", "65532", 4}}).ok());
  EXPECT_THAT(CheckPortRanges({{"--metrics-listen", "65533", 4}}).message(),
              HasSubstr("--metrics-listen is 65533, and 4 processes take a "
                        "port each from there on; the last port is 65535, so "
                        "the first can be at most 65532"));
}

}  // namespace
}  // namespace ps
