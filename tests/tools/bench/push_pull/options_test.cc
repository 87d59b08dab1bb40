#include "tools/bench/push_pull/options.h"

#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

TEST(PushPullOptions, DefaultsAreValid) {
  EXPECT_TRUE(CheckPushPullOptions(PushPullOptions()).ok());
}

TEST(PushPullOptions, ValuesOutOfRangeAreNamedWithTheRule) {
  const struct {
    int64_t PushPullOptions::*option;
    int64_t least;
    int64_t most;
    std::string message;  // For a value below the least.
  } cases[] = {
      {&PushPullOptions::megabytes, 1, 65536,
       "--megabytes is 0; must be in [1, 65536]"},
      {&PushPullOptions::bucket_megabytes, 1, 65536,
       "--bucket-megabytes is 0; must be in [1, 65536]"},
      {&PushPullOptions::workers, 1, 64, "--workers is 0; must be in [1, 64]"},
      {&PushPullOptions::connections, 1, 64,
       "--connections is 0; must be in [1, 64]"},
      {&PushPullOptions::server_threads, 1, 256,
       "--server-threads is 0; must be in [1, 256]"},
      {&PushPullOptions::iterations, 1, 100,
       "--iterations is 0; must be in [1, 100]"},
      {&PushPullOptions::rounds, 1, 100, "--rounds is 0; must be in [1, 100]"},
  };
  for (const auto& c : cases) {
    for (const int64_t value : {c.least, c.most}) {
      PushPullOptions options;
      options.*c.option = value;
      EXPECT_TRUE(CheckPushPullOptions(options).ok())
          << CheckPushPullOptions(options);
    }
    for (const int64_t value : {c.least - 1, c.most + 1}) {
      PushPullOptions options;
      options.*c.option = value;
      EXPECT_EQ(CheckPushPullOptions(options).code(),
                absl::StatusCode::kInvalidArgument)
          << c.message;
    }
    PushPullOptions options;
    options.*c.option = c.least - 1;
    EXPECT_EQ(CheckPushPullOptions(options).message(), c.message);
  }
}

TEST(PushPullOptions, TheJobIsWhatTheOptionsSay) {
  PushPullOptions options;
  options.workers = 3;
  options.server_threads = 5;
  options.overrides = {"cluster.startup_timeout_seconds=7",
                       "cluster.max_slice_elements=4096"};
  const auto job = PushPullJob(options);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->cluster().num_workers(), 3);
  EXPECT_EQ(job->cluster().num_servers(), 1);
  EXPECT_EQ(job->cluster().max_slice_elements(), 4096);
  EXPECT_EQ(job->cluster().startup_timeout_seconds(), 7);
  EXPECT_EQ(job->machine().server_threads(), 5);
  EXPECT_EQ(job->optimizer().name(), "sgd");
  EXPECT_EQ(job->optimizer().learning_rate(), 1);
}

TEST(PushPullOptions, OverridesThatMakeNoSenseAreNamed) {
  const struct {
    std::string assignment;
    std::string message;
  } cases[] = {
      {"cluster.servrs=1", "--set cluster.servrs=1: "},
      {"cluster.num_servers=2",
       "--set makes cluster.num_servers 2; here it must be 1"},
      {"cluster.num_workers=2",
       "--set makes cluster.num_workers 2; here it must be 1"},
      {"optimizer.learning_rate=-1", "optimizer.learning_rate"},
      {"optimizer.name=sgdd", "optimizer.name"},
  };
  for (const auto& c : cases) {
    PushPullOptions options;
    options.overrides = {c.assignment};
    const absl::Status status = CheckPushPullOptions(options);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(c.message));
  }
}

TEST(PushPullOptions, SizesAreOfFloats) {
  PushPullOptions options;
  options.megabytes = 3;
  EXPECT_EQ(4 * options.elements(), 3 << 20);
}

}  // namespace
}  // namespace ps
