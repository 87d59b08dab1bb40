#include "tools/bench/load/options.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/npy_row_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

absl::Status Status(const LoadOptions& options) {
  return LoadSettingsOf(options).status();
}

TEST(LoadOptions, DefaultsAreSixtyFourWorkersAndTwoServers) {
  const auto loads = LoadSettingsOf(LoadOptions());
  ASSERT_TRUE(loads.ok()) << loads.status();
  ASSERT_THAT(*loads, SizeIs(1));
  const LoadSettings& load = loads->front();
  EXPECT_EQ(load.elements, 16 << 18);
  EXPECT_EQ(load.job.cluster().num_workers(), 64);
  EXPECT_EQ(load.job.cluster().num_servers(), 2);
  EXPECT_EQ(load.job.compressor().name(), "sidco_e");
  EXPECT_EQ(load.job.compressor().ratio(), 0.001);
  EXPECT_EQ(load.job.downlink().mode(), DownlinkConfig::UPDATE);
  EXPECT_FALSE(load.job.cluster().unix_sockets());
}

TEST(LoadOptions, ValuesOutOfRangeAreNamedWithTheRule) {
  const struct {
    int64_t LoadOptions::*option;
    int64_t least;
    int64_t most;
    std::string message;  // For a value below the least.
  } cases[] = {
      {&LoadOptions::workers, 1, 1024, "--workers is 0; must be in [1, 1024]"},
      {&LoadOptions::processes, 1, 64, "--processes is 0; must be in [1, 64]"},
      {&LoadOptions::servers, 1, 256, "--servers is 0; must be in [1, 256]"},
      {&LoadOptions::megabytes, 0, 65536,
       "--megabytes is -1; must be in [0, 65536]"},
      {&LoadOptions::seconds, 1, 2592000,
       "--seconds is 0; must be in [1, 2592000]"},
      {&LoadOptions::iterations, 0, int64_t{1} << 32,
       "--iterations is -1; must be in [0, 4294967296]"},
      {&LoadOptions::ring, 1, 1024, "--ring is 0; must be in [1, 1024]"},
      {&LoadOptions::payload_megabytes, 1, 65536,
       "--payload-megabytes is 0; must be in [1, 65536]"},
  };
  for (const auto& c : cases) {
    for (const int64_t value : {c.least, c.most}) {
      LoadOptions options;
      options.*c.option = value;
      EXPECT_TRUE(Status(options).ok()) << Status(options);
    }
    for (const int64_t value : {c.least - 1, c.most + 1}) {
      LoadOptions options;
      options.*c.option = value;
      EXPECT_EQ(Status(options).code(), absl::StatusCode::kInvalidArgument)
          << c.message;
    }
    LoadOptions options;
    options.*c.option = c.least - 1;
    EXPECT_EQ(Status(options).message(), c.message);
  }
}

TEST(LoadOptions, ASweepHasALoadForEachValue) {
  LoadOptions options;
  options.servers = 3;
  options.sweep_workers = "1,4,64";
  auto loads = LoadSettingsOf(options);
  ASSERT_TRUE(loads.ok()) << loads.status();
  std::vector<int64_t> workers;
  for (const LoadSettings& load : *loads) {
    workers.push_back(load.job.cluster().num_workers());
    EXPECT_EQ(load.options.workers, workers.back());
    EXPECT_EQ(load.job.cluster().num_servers(), 3);
    EXPECT_EQ(load.elements, 16 << 18);
  }
  EXPECT_THAT(workers, ElementsAre(1, 4, 64));

  options.sweep_workers.clear();
  options.sweep_megabytes = "1,1024";
  loads = LoadSettingsOf(options);
  ASSERT_TRUE(loads.ok()) << loads.status();
  ASSERT_THAT(*loads, SizeIs(2));
  EXPECT_EQ((*loads)[0].elements, 1 << 18);
  EXPECT_EQ((*loads)[1].elements, 1 << 28);
  EXPECT_EQ((*loads)[1].job.cluster().num_workers(), 64);
}

TEST(LoadOptions, SweepsThatMakeNoSenseAreNamed) {
  LoadOptions options;
  options.sweep_workers = "1,many";
  EXPECT_THAT(Status(options).message(),
              AllOf(HasSubstr("--sweep-workers"), HasSubstr("many")));
  options.sweep_workers = "1,2000";
  EXPECT_EQ(Status(options).message(),
            "--workers is 2000; must be in [1, 1024]");
  options.sweep_workers = "1,2";
  options.sweep_megabytes = "1,2";
  EXPECT_EQ(Status(options).message(),
            "--sweep-workers and --sweep-megabytes exclude each other");
}

TEST(LoadOptions, TheModelIsARowOfTheGradientsUnlessItsSizeIsSaid) {
  const std::string path =
      absl::StrCat(testing::TempDir(), "/load_options.npy");
  auto file = NpyRowFile::Create(path, 12345);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Append(std::vector<float>(12345)).ok());
  ASSERT_TRUE(file->Close().ok());
  LoadOptions options;
  options.gradients = path;
  EXPECT_EQ(LoadSettingsOf(options)->front().elements, 12345);
  options.megabytes = 2;
  EXPECT_EQ(LoadSettingsOf(options)->front().elements, 2 << 18);
  options.gradients = "/no/file.npy";
  EXPECT_EQ(Status(options).code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(Status(options).message(), HasSubstr("/no/file.npy"));
}

TEST(LoadOptions, OverridesReachTheJob) {
  LoadOptions options;
  options.overrides = {"compressor.name=topk", "compressor.ratio=0.5",
                       "machine.server_threads=2"};
  const auto loads = LoadSettingsOf(options);
  ASSERT_TRUE(loads.ok()) << loads.status();
  EXPECT_EQ(loads->front().job.compressor().name(), "topk");
  EXPECT_EQ(loads->front().job.compressor().ratio(), 0.5);
  EXPECT_EQ(loads->front().job.machine().server_threads(), 2);
}

TEST(LoadOptions, OverridesThatMakeNoSenseAreNamed) {
  const struct {
    std::string assignment;
    std::string message;
  } cases[] = {
      {"cluster.servrs=1", "--set cluster.servrs=1: "},
      {"cluster.num_servers=3",
       "--set makes cluster.num_servers 3; here it must be 2"},
      {"cluster.num_workers=2",
       "--set makes cluster.num_workers 2; here it must be 64"},
      {"compressor.ratio=2", "compressor.ratio"},
      {"compressor.name=topkk", "compressor.name"},
      {"compressor.name=powersgd",
       "compressor.name is powersgd, which looks at each tensor"},
  };
  for (const auto& c : cases) {
    LoadOptions options;
    options.overrides = {c.assignment};
    EXPECT_EQ(Status(options).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(Status(options).message(), HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace ps
