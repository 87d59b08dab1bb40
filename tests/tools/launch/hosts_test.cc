#include "tools/launch/hosts.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Text(const std::vector<LaunchHost>& hosts) {
  return absl::StrJoin(hosts, " ", [](std::string* out, const LaunchHost& h) {
    absl::StrAppend(out, h.name, "|", h.address, "|", h.num_workers);
  });
}

TEST(LaunchHosts, NameAddressAndWorkersAreTold) {
  const auto hosts =
      ParseHosts("a:4, ann@b.example.org,c=10.0.0.3,d=[fd00::1]:2,e:0");
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  EXPECT_EQ(Text(*hosts),
            "a|a|4 ann@b.example.org|b.example.org|1 c|10.0.0.3|1 "
            "d|[fd00::1]|2 e|e|0");
  EXPECT_EQ(NumWorkers(*hosts), 8);
}

TEST(LaunchHosts, WhatCannotBeAHostIsNamed) {
  for (const char* text : {"",
                           "a,",
                           "a:x",
                           "a:-1",
                           "a:1025",
                           "a:",
                           "-oProxyCommand=evil",
                           "@a",
                           "a@",
                           "a b",
                           "a;b",
                           "a=",
                           "a=[::1",
                           "a=b/c",
                           "a=-b",
                           "a@b@c",
                           "a$b",
                           "a=10.1",
                           "a=[10.0.0.1]",
                           "a=::1"}) {
    const absl::Status status = ParseHosts(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("host \"")) << text;
  }
  EXPECT_THAT(std::string(ParseHosts("a,b,a:2").status().message()),
              HasSubstr("\"a\" is named twice"));
  EXPECT_THAT(
      std::string(ParseHosts("a=10.0.0.1,b=10.0.0.1").status().message()),
      HasSubstr("\"a\" and \"b\" have the same address, 10.0.0.1"));
  EXPECT_THAT(std::string(ParseHosts("a,ann@a:2").status().message()),
              HasSubstr("have the same address, a"));
  EXPECT_THAT(std::string(ParseHosts("a:0,b:0").status().message()),
              HasSubstr("no workers"));
}

TEST(LaunchHosts, ServersAreDealtInTurnAndRanksFollowTheHosts) {
  const auto hosts = ParseHosts("a:2,ann@b=10.0.0.2:1");
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  const auto processes = PlaceProcesses(*hosts, /*num_servers=*/3, 7000);
  ASSERT_TRUE(processes.ok()) << processes.status();
  std::vector<std::string> placed;
  for (const PlacedProcess& process : *processes) {
    placed.push_back(absl::StrCat(process.name(), "@", process.host));
  }
  EXPECT_THAT(placed, ElementsAre("server-0@0", "server-1@1", "server-2@0",
                                  "worker-0@0", "worker-1@0", "worker-2@1"));
  EXPECT_THAT(ServerAddresses(*hosts, *processes),
              ElementsAre("a:7000", "10.0.0.2:7000", "a:7001"));
}

TEST(LaunchHosts, PortsAndHostsMustSuffice) {
  const auto hosts = ParseHosts("a:1,b:0");
  ASSERT_TRUE(hosts.ok()) << hosts.status();
  EXPECT_TRUE(PlaceProcesses(*hosts, 2, 65535).ok());
  EXPECT_FALSE(PlaceProcesses(*hosts, 3, 65535).ok());
  EXPECT_FALSE(PlaceProcesses(*hosts, 2, 0).ok());
  EXPECT_THAT(std::string(PlaceProcesses(*hosts, 1, 1).status().message()),
              HasSubstr("host \"b\" has neither a worker nor"));
}

TEST(LaunchHosts, AServerListensAtANumberOrEverywhere) {
  EXPECT_EQ(ListenAddress({"a", "10.0.0.2", 1}, 7), "10.0.0.2:7");
  EXPECT_EQ(ListenAddress({"a", "[fd00::1]", 1}, 7), "[fd00::1]:7");
  EXPECT_EQ(ListenAddress({"a", "a", 1}, 7), "0.0.0.0:7");
}

}  // namespace
}  // namespace ps
