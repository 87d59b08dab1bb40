#include "common/host_and_port.h"

#include <string>

#include "gtest/gtest.h"

namespace ps {
namespace {

TEST(HostAndPortTest, NamesAndNumbersHaveTheirParts) {
  const struct {
    const char* address;
    const char* host;
    int port;
  } cases[] = {
      {"localhost:0", "localhost", 0},
      {"10.0.0.1:65535", "10.0.0.1", 65535},
      {"[::1]:80", "::1", 80},
      {"[fe80::1%eth0]:7000", "fe80::1%eth0", 7000},
      {"ps-0.ps_1.svc:7000", "ps-0.ps_1.svc", 7000},
      // A host may have the name of a kind of address.
      {"unix:80", "unix", 80},
  };
  for (const auto& a_case : cases) {
    const auto parts = ParseHostAndPort(a_case.address);
    ASSERT_TRUE(parts.has_value()) << a_case.address;
    EXPECT_EQ(parts->host, a_case.host);
    EXPECT_EQ(parts->port, a_case.port);
  }
}

TEST(HostAndPortTest, WhatCouldMeanTwoThingsIsRefused) {
  for (const char* address :
       {"",        "a",          "8080",        ":1",          "a:",
        "a:65536", "a:000001",   "a:+1",        "a: 1",        "a:1 ",
        "a b:1",   "-a:1",       "a/b:1",       "256.1.1.1:1", "127.1:80",
        "1:80",    "0x7f.0x1:1", "010.0.0.1:1", "::1:80",      "[::1:80",
        "[::1]",   "[a]:1",      "[1.2.3.4]:1", "unix:/run/ps"}) {
    EXPECT_FALSE(IsHostAndPort(address)) << address;
  }
}

TEST(HostAndPortTest, APortAloneIsOfThisMachine) {
  EXPECT_EQ(WithOwnHost("8080"), "127.0.0.1:8080");
  EXPECT_EQ(WithOwnHost("0.0.0.0:8080"), "0.0.0.0:8080");
  EXPECT_FALSE(IsHostAndPort(WithOwnHost("65536")));
}

TEST(HostAndPortTest, ProcessesOfAMachineCountPorts) {
  EXPECT_EQ(AddressOfNumber("0.0.0.0:9090", 2), "0.0.0.0:9092");
  EXPECT_EQ(AddressOfNumber("[::1]:9090", 1), "[::1]:9091");
  EXPECT_EQ(AddressOfNumber("9090", 1), "127.0.0.1:9091");
  EXPECT_EQ(AddressOfNumber("a:0", 3), "a:0");
  EXPECT_FALSE(IsHostAndPort(AddressOfNumber("a:65535", 1)));
  EXPECT_EQ(AddressOfNumber("nowhere", 1), "nowhere");
}

}  // namespace
}  // namespace ps
