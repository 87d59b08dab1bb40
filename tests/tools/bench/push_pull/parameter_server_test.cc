// The measured side in one process: a real server, and workers as threads.
#include "tools/bench/push_pull/parameter_server.h"

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/server.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

constexpr int kPushes = 3;

ParameterServerOptions SmallOptions(int num_workers) {
  ParameterServerOptions options;
  options.config.mutable_optimizer()->set_name("sgd");
  options.config.mutable_optimizer()->set_learning_rate(1);
  options.config.mutable_cluster()->set_num_workers(num_workers);
  options.config.mutable_cluster()->set_num_servers(1);
  options.config.mutable_cluster()->set_max_slice_elements(1024);
  options.config.mutable_security()->set_mode(SecurityConfig::INSECURE);
  // Three buckets, the last one shorter, and a slice size that does not divide
  // them.
  options.elements = 7001;
  options.bucket_elements = 3000;
  options.total_pushes = kPushes;
  return options;
}

std::unique_ptr<Server> StartServer(const JobConfig& config) {
  ServerOptions options;
  options.config = config;
  options.listen = "127.0.0.1:0";
  auto server = Server::Start(options);
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

// Pushes, pulls, and finishes.
void RunWorker(const ParameterServerOptions& options) {
  auto plane = JoinParameterServer(options);
  ASSERT_TRUE(plane.ok()) << plane.status();
  EXPECT_TRUE((*plane)->Check(0).ok()) << (*plane)->Check(0);
  for (int i = 0; i < kPushes; ++i) {
    const auto traffic = (*plane)->Push();
    ASSERT_TRUE(traffic.ok()) << traffic.status();
    EXPECT_EQ(traffic->payload_bytes, 4 * options.elements);
  }
  // Only pulled weights are checked.
  EXPECT_FALSE((*plane)->Check(kPushes).ok());
  const auto pulled = (*plane)->Pull();
  ASSERT_TRUE(pulled.ok()) << pulled.status();
  EXPECT_EQ(*pulled, 4 * options.elements);
  EXPECT_TRUE((*plane)->Check(kPushes).ok()) << (*plane)->Check(kPushes);
  EXPECT_THAT((*plane)->Check(kPushes - 1).message(), HasSubstr("of 7001 is"));
  EXPECT_TRUE((*plane)->Finish().ok());
}

class ParameterServerPlane : public testing::TestWithParam<int> {};

TEST_P(ParameterServerPlane, PulledWeightsAreWhatThePushesGive) {
  ParameterServerOptions options = SmallOptions(GetParam());
  const std::unique_ptr<Server> server = StartServer(options.config);
  options.server = server->address();
  std::vector<std::thread> workers;
  for (int rank = 0; rank < GetParam(); ++rank) {
    options.rank = rank;
    workers.emplace_back([options] { RunWorker(options); });
  }
  EXPECT_TRUE(server->Wait().ok());
  for (std::thread& worker : workers) worker.join();
}

INSTANTIATE_TEST_SUITE_P(Workers, ParameterServerPlane,
                         testing::Values(1, 2, 3), [](const auto& info) {
                           return absl::StrCat(info.param);
                         });

TEST(ParameterServerPlane, AnotherStepThanTheBenchExpectsIsFoundOut) {
  ParameterServerOptions options = SmallOptions(/*num_workers=*/1);
  options.config.mutable_optimizer()->set_learning_rate(0.5);
  const std::unique_ptr<Server> server = StartServer(options.config);
  options.server = server->address();
  auto plane = JoinParameterServer(options);
  ASSERT_TRUE(plane.ok()) << plane.status();
  ASSERT_TRUE((*plane)->Push().ok());
  ASSERT_TRUE((*plane)->Pull().ok());
  EXPECT_EQ((*plane)->Check(1).message(),
            "element 0 of 7001 is -0.5; must be -1");
  // A server answers the last Finish only while Wait() runs.
  std::thread waits([&] { EXPECT_TRUE(server->Wait().ok()); });
  EXPECT_TRUE((*plane)->Finish().ok());
  waits.join();
}

}  // namespace
}  // namespace ps
