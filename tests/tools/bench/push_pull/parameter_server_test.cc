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

// Three buckets, the last one shorter, and a slice size that does not divide
// them.
constexpr int64_t kElements = 7001;
constexpr double kBucketMegabytes = 3000 / double{1 << 18};

JobConfig SmallJob(int num_workers) {
  JobConfig job;
  job.mutable_training()->set_bucket_megabytes(kBucketMegabytes);
  job.mutable_optimizer()->set_name("sgd");
  job.mutable_optimizer()->set_learning_rate(1);
  job.mutable_cluster()->set_num_workers(num_workers);
  job.mutable_cluster()->set_num_servers(1);
  job.mutable_cluster()->set_max_slice_elements(1024);
  job.mutable_security()->set_mode(SecurityConfig::INSECURE);
  return job;
}

// Also gives the job its address.
std::unique_ptr<Server> StartServer(JobConfig* job) {
  ServerOptions options;
  options.config = *job;
  options.listen = "127.0.0.1:0";
  auto server = Server::Start(options);
  EXPECT_TRUE(server.ok()) << server.status();
  job->mutable_cluster()->add_servers((*server)->address());
  return *std::move(server);
}

absl::StatusOr<std::unique_ptr<DataPlane>> Join(const JobConfig& job,
                                                int rank) {
  DataPlaneOptions options;
  options.elements = kElements;
  options.rank = rank;
  options.num_workers = job.cluster().num_workers();
  return JoinParameterServer(job, options);
}

// Pushes, pulls, and finishes.
void RunWorker(const JobConfig& job, int rank) {
  auto plane = Join(job, rank);
  ASSERT_TRUE(plane.ok()) << plane.status();
  EXPECT_TRUE((*plane)->Check(0).ok()) << (*plane)->Check(0);
  for (int i = 0; i < kPushes; ++i) {
    const auto traffic = (*plane)->Push();
    ASSERT_TRUE(traffic.ok()) << traffic.status();
    EXPECT_EQ(traffic->payload_bytes, 4 * kElements);
  }
  // Only pulled weights are checked.
  EXPECT_FALSE((*plane)->Check(kPushes).ok());
  const auto pulled = (*plane)->Pull();
  ASSERT_TRUE(pulled.ok()) << pulled.status();
  EXPECT_EQ(*pulled, 4 * kElements);
  EXPECT_TRUE((*plane)->Check(kPushes).ok()) << (*plane)->Check(kPushes);
  EXPECT_THAT((*plane)->Check(kPushes - 1).message(), HasSubstr("of 7001 is"));
  EXPECT_TRUE((*plane)->Finish().ok());
}

class ParameterServerPlane : public testing::TestWithParam<int> {};

TEST_P(ParameterServerPlane, PulledWeightsAreWhatThePushesGive) {
  JobConfig job = SmallJob(GetParam());
  const std::unique_ptr<Server> server = StartServer(&job);
  std::vector<std::thread> workers;
  for (int rank = 0; rank < GetParam(); ++rank) {
    workers.emplace_back([&job, rank] { RunWorker(job, rank); });
  }
  EXPECT_TRUE(server->Wait().ok());
  for (std::thread& worker : workers) worker.join();
}

INSTANTIATE_TEST_SUITE_P(Workers, ParameterServerPlane,
                         testing::Values(1, 2, 3), [](const auto& info) {
                           return absl::StrCat(info.param);
                         });

TEST(ParameterServerPlane, AnotherStepThanTheBenchExpectsIsFoundOut) {
  JobConfig job = SmallJob(/*num_workers=*/1);
  job.mutable_optimizer()->set_learning_rate(0.5);
  const std::unique_ptr<Server> server = StartServer(&job);
  auto plane = Join(job, /*rank=*/0);
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
