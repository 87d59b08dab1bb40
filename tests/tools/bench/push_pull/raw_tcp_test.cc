#include "tools/bench/push_pull/raw_tcp.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/bench/push_pull/loopback_socket.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<RawTcpServer> NewServer(int64_t elements) {
  auto server = RawTcpServer::Start(elements);
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

std::unique_ptr<DataPlane> Connect(const RawTcpServer& server,
                                   DataPlaneOptions options) {
  options.port = server.port();
  auto plane = ConnectRawTcp(options);
  EXPECT_TRUE(plane.ok()) << plane.status();
  return *std::move(plane);
}

class RawTcpSizes : public testing::TestWithParam<int64_t> {};

TEST_P(RawTcpSizes, WhatIsPulledIsTheSumOfAllPushes) {
  DataPlaneOptions options;
  options.elements = GetParam();
  options.connections = 3;
  const auto server = NewServer(options.elements);
  const auto plane = Connect(*server, options);
  for (int i = 0; i < 3; ++i) {
    const auto traffic = plane->Push();
    ASSERT_TRUE(traffic.ok()) << traffic.status();
    EXPECT_EQ(traffic->payload_bytes, 4 * options.elements);
    EXPECT_EQ(traffic->answer_bytes, 3);
  }
  const auto pulled = plane->Pull();
  ASSERT_TRUE(pulled.ok()) << pulled.status();
  EXPECT_EQ(*pulled, 4 * options.elements);
  EXPECT_TRUE(plane->Check(3).ok()) << plane->Check(3);
  EXPECT_THAT(plane->Check(2).message(), HasSubstr("element 0 of "));
}

// Fewer messages than connections, and a last one of any length.
INSTANTIATE_TEST_SUITE_P(
    All, RawTcpSizes,
    testing::Values(1, kRawMessageElements - 1, kRawMessageElements,
                    kRawMessageElements + 1, 5 * kRawMessageElements / 2,
                    4 * kRawMessageElements),
    [](const auto& info) { return absl::StrCat(info.param); });

TEST(RawTcp, WorkersAtTheSameTimeAreAllAddedUp) {
  constexpr int kWorkers = 3;
  constexpr int kPushes = 4;
  DataPlaneOptions options;
  options.elements = 3 * kRawMessageElements;
  options.num_workers = kWorkers;
  options.connections = 2;
  const auto server = NewServer(options.elements);
  std::vector<std::unique_ptr<DataPlane>> planes;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kWorkers; ++rank) {
    options.rank = rank;
    planes.push_back(Connect(*server, options));
    threads.emplace_back([plane = planes.back().get()] {
      for (int i = 0; i < kPushes; ++i) EXPECT_TRUE(plane->Push().ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& plane : planes) {
    ASSERT_TRUE(plane->Pull().ok());
    EXPECT_TRUE(plane->Check(kPushes).ok()) << plane->Check(kPushes);
  }
}

TEST(RawTcp, AServerThatGoesIsAnError) {
  DataPlaneOptions options;
  options.elements = 100;
  auto server = NewServer(options.elements);
  const auto plane = Connect(*server, options);
  ASSERT_TRUE(plane->Push().ok());
  server = nullptr;
  EXPECT_TRUE(absl::IsUnavailable(plane->Push().status()));
  EXPECT_TRUE(absl::IsUnavailable(plane->Pull().status()));
}

TEST(RawTcp, AServerThatIsNotThereIsAnError) {
  auto server = NewServer(/*elements=*/1);
  DataPlaneOptions options;
  options.elements = 1;
  options.port = server->port();
  server = nullptr;
  EXPECT_THAT(ConnectRawTcp(options).status().message(),
              HasSubstr("cannot connect to 127.0.0.1"));
}

TEST(RawTcp, NonsenseEndsItsConnectionAndNoOther) {
  DataPlaneOptions options;
  options.elements = 100;
  const auto server = NewServer(options.elements);
  const auto plane = Connect(*server, options);
  // An unknown verb, a message before the first, and a stride of 0.
  for (const std::vector<int64_t>& command :
       {std::vector<int64_t>{3, -1, 1}, std::vector<int64_t>{1, -1, 1},
        std::vector<int64_t>{2, 0, 0}}) {
    const auto socket = ConnectToLoopback(server->port());
    ASSERT_TRUE(socket.ok());
    ASSERT_TRUE(SendBytes(socket->get(), command.data(), 24).ok());
    char byte;
    EXPECT_TRUE(absl::IsUnavailable(ReceiveBytes(socket->get(), &byte, 1)));
  }
  ASSERT_TRUE(plane->Push().ok());
  ASSERT_TRUE(plane->Pull().ok());
  EXPECT_TRUE(plane->Check(1).ok());
}

}  // namespace
}  // namespace ps
