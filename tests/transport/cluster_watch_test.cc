#include "transport/cluster_watch.h"

#include <memory>
#include <utility>
#include <vector>

#include "common/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/transport/fake_channel.h"
#include "transport/proto_bytes.h"

namespace ps {
namespace {

using ::testing::ElementsAre;

class ClusterWatchTest : public testing::Test {
 protected:
  // Asks again at once when a server has answered.
  ClusterWatchTest() {
    std::vector<std::unique_ptr<ServerChannel>> channels;
    for (int i = 0; i < 2; ++i) {
      auto channel = std::make_unique<FakeChannel>();
      servers_.push_back(channel.get());
      channels.push_back(std::move(channel));
    }
    watch_ = std::make_unique<ClusterWatch>(
        std::move(channels), absl::Milliseconds(1),
        [this](int server, const ServerReport& report) {
          heard_.emplace_back(server, report);
        });
  }

  // Of the thread that answers, here the test's.
  std::vector<std::pair<int, ServerReport>> heard_;
  std::vector<FakeChannel*> servers_;
  std::unique_ptr<ClusterWatch> watch_;
};

TEST_F(ClusterWatchTest, PassesOnWhatEachServerSays) {
  GetStatusResponse response;
  response.set_version(12);
  response.add_missing_ranks(3);
  response.add_awaited_ranks(1);
  response.add_awaited_ranks(2);
  servers_[1]->Take(Rpc::kGetStatus).done(ToBytes(response));
  ASSERT_EQ(heard_.size(), 1u);
  EXPECT_EQ(heard_[0].first, 1);
  EXPECT_TRUE(heard_[0].second.status.ok());
  EXPECT_EQ(heard_[0].second.version, 12);
  EXPECT_THAT(heard_[0].second.missing_ranks, ElementsAre(3));
  EXPECT_THAT(heard_[0].second.awaited_ranks, ElementsAre(1, 2));
}

TEST_F(ClusterWatchTest, AsksAgainButNotWhileAnAnswerIsOut) {
  FakeChannel::Call first = servers_[0]->Take(Rpc::kGetStatus);
  for (int i = 0; i < 20; ++i) {
    servers_[1]->Take(Rpc::kGetStatus).done(ToBytes(GetStatusResponse()));
  }
  EXPECT_EQ(servers_[0]->Count(Rpc::kGetStatus), 0);
  first.done(absl::UnavailableError("gone"));
  EXPECT_EQ(heard_.back().second.status.message(), "gone");
  servers_[0]->Take(Rpc::kGetStatus).done(ToBytes(GetStatusResponse()));
  EXPECT_TRUE(heard_.back().second.status.ok());
}

}  // namespace
}  // namespace ps
