// Real namespaces, links and filters. Times are bounded from below only, by
// what a link can carry; a busy machine makes them longer.
#include "tools/bench/network/slow_network.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/test_process.h"
#include "tests/tools/bench/network/namespaces_in_use.h"
#include "tools/bench/network/bandwidth_probe.h"
#include "tools/process/subprocesses.h"

namespace ps {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr int64_t kBitsPerSecond = 100'000'000;

class SlowNetworkTest : public testing::Test {
 protected:
  void SetUp() override {
    const absl::Status available = SlowNetwork::CheckAvailable();
    if (!available.ok()) GTEST_SKIP() << available.message();
  }

  static std::unique_ptr<SlowNetwork> Make(int hosts) {
    SlowNetworkOptions options;
    options.num_hosts = hosts;
    options.bits_per_second = kBitsPerSecond;
    auto network = SlowNetwork::Create(options);
    EXPECT_TRUE(network.ok()) << network.status();
    return network.ok() ? *std::move(network) : nullptr;
  }

  // Seconds of transfers between these hosts at the same time, and the bytes of
  // one.
  struct Timed {
    double seconds = 0;
    double bytes = 0;
  };
  static Timed Transfer(const SlowNetwork& network,
                        const std::vector<std::pair<int, int>>& ways) {
    const absl::Time start = absl::Now();
    std::vector<std::thread> threads;
    for (const auto& [from, to] : ways) {
      threads.emplace_back([&network, from = from, to = to] {
        const absl::StatusOr<double> measured =
            MeasureBandwidth(network, from, to);
        ASSERT_TRUE(measured.ok()) << measured.status();
        EXPECT_GT(*measured, 0);
      });
    }
    for (std::thread& thread : threads) thread.join();
    Timed timed;
    timed.seconds = absl::ToDoubleSeconds(absl::Now() - start);
    // Half a second of the link, in addition to what is sent before.
    timed.bytes = 4 * static_cast<double>(network.burst_bytes()) +
                  0.5 / 8 * kBitsPerSecond;
    return timed;
  }

  // The shortest time in which this number of bytes passes one filter.
  static double FilterSeconds(const SlowNetwork& network, double bytes) {
    return (bytes - static_cast<double>(network.burst_bytes())) * 8 /
           kBitsPerSecond;
  }
};

TEST_F(SlowNetworkTest, ALinkIsAsSlowAsAskedForAndCountsWhatPasses) {
  const auto network = Make(2);
  ASSERT_NE(network, nullptr);
  const auto before = network->ReadTraffic();
  const Timed timed = Transfer(*network, {{0, 1}});
  EXPECT_GE(timed.seconds, FilterSeconds(*network, timed.bytes));
  const auto after = network->ReadTraffic();
  ASSERT_TRUE(before.ok() && after.ok()) << before.status() << after.status();
  EXPECT_GE((*after)[0].sent_bytes - (*before)[0].sent_bytes, timed.bytes);
  EXPECT_GE((*after)[1].received_bytes - (*before)[1].received_bytes,
            timed.bytes);
  // Acknowledgements.
  EXPECT_LT((*after)[1].sent_bytes, timed.bytes);
  EXPECT_GT((*after)[1].sent_bytes, (*before)[1].sent_bytes);
}

// Each of these transfers would pass at twice the rate if only the other hosts'
// ends of the links were filtered.
TEST_F(SlowNetworkTest, ManyToOneShareTheReceiversLink) {
  const auto network = Make(3);
  ASSERT_NE(network, nullptr);
  const Timed timed = Transfer(*network, {{1, 0}, {2, 0}});
  EXPECT_GE(timed.seconds, FilterSeconds(*network, 2 * timed.bytes));
}

TEST_F(SlowNetworkTest, OneToManyShareTheSendersLink) {
  const auto network = Make(3);
  ASSERT_NE(network, nullptr);
  const Timed timed = Transfer(*network, {{0, 1}, {0, 2}});
  EXPECT_GE(timed.seconds, FilterSeconds(*network, 2 * timed.bytes));
}

TEST_F(SlowNetworkTest, TheMachinesOwnNetworkIsNotTouchedAndNothingIsLeft) {
  const std::set<std::string> interfaces = NetworkInterfaces();
  std::vector<std::string> made;
  {
    const auto network = Make(2);
    ASSERT_NE(network, nullptr);
    for (int i = 0; i < 2; ++i) made.push_back(network->host(i).id());
    for (const std::string& id : made) {
      EXPECT_THAT(id, HasSubstr("net:["));
      EXPECT_THAT(NetworkNamespacesInUse(), Contains(id));
    }
    EXPECT_EQ(NetworkInterfaces(), interfaces);
  }
  // A thread that has been joined may take a moment to leave its namespace.
  EXPECT_TRUE(WaitFor(absl::Seconds(10), [&made] {
    const std::set<std::string> in_use = NetworkNamespacesInUse();
    return std::none_of(made.begin(), made.end(), [&](const std::string& id) {
      return in_use.count(id) > 0;
    });
  }));
  EXPECT_EQ(NetworkInterfaces(), interfaces);
}

TEST_F(SlowNetworkTest, AProcessInAHostSeesThatHostOnly) {
  const auto network = Make(2);
  ASSERT_NE(network, nullptr);
  std::vector<std::string> lines;
  SubprocessCallbacks callbacks;
  callbacks.on_line = [&](int, OutputStream, absl::string_view line) {
    lines.emplace_back(line);
  };
  Subprocesses processes(callbacks);
  ASSERT_TRUE(
      processes
          .Start({"/bin/sh", "-c",
                  "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' | sort"},
                 network->host(1).fd())
          .ok());
  while (processes.num_running() > 0) {
    ASSERT_TRUE(processes.Poll(absl::InfiniteFuture()).ok());
  }
  EXPECT_EQ(absl::StrJoin(lines, ";"), "eth0;lo");
}

TEST_F(SlowNetworkTest, WhatCannotBeIsRefused) {
  SlowNetworkOptions options;
  options.num_hosts = 1024;
  EXPECT_THAT(std::string(SlowNetwork::Create(options).status().message()),
              HasSubstr("1024 hosts; must be 1 to 1023"));
  options.num_hosts = 1;
  options.bits_per_second = 0;
  EXPECT_EQ(SlowNetwork::Create(options).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(SlowNetworkAddress, IsAnotherForEachHost) {
  EXPECT_EQ(SlowNetwork::Address(0), "198.18.0.1");
  EXPECT_EQ(SlowNetwork::Address(254), "198.18.0.255");
  EXPECT_EQ(SlowNetwork::Address(255), "198.18.1.0");
  EXPECT_EQ(SlowNetwork::Address(kMostHosts - 1), "198.18.3.255");
}

}  // namespace
}  // namespace ps
