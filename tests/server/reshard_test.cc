// Snapshots of servers, dealt to another number of servers.
#include "tools/checkpoint/reshard.h"

#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/slice_elements.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/shard.h"
#include "storage/process_snapshots.h"
#include "tests/server/slice_calls.h"
#include "tests/storage/memory_files.h"
#include "tools/checkpoint/job_snapshots.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kDirectory[] = "kept";

class ReshardTest : public testing::Test {
 protected:
  ReshardTest() {
    layout_.bucket_sizes = {40000, 5, 9000};
    layout_.total_iterations = 10;
  }

  JobConfig Job(int num_servers) const {
    JobConfig job;
    job.set_name(name_);
    job.mutable_cluster()->set_num_servers(num_servers);
    job.mutable_checkpoint()->set_directory(kDirectory);
    return job;
  }

  std::unique_ptr<ProcessSnapshots> Open(const JobConfig& job, int server) {
    ProcessSnapshotsOptions options;
    options.files = &files_;
    options.config = &job;
    options.process = ServerProcess(server, job.cluster().num_servers());
    auto snapshots = ProcessSnapshots::Open(options);
    EXPECT_TRUE(snapshots.ok()) << snapshots.status();
    return *std::move(snapshots);
  }

  // Each slice is filled with its number, plus that of the snapshot.
  void Save(int num_servers, const std::vector<int64_t>& numbers) {
    const JobConfig job = Job(num_servers);
    for (int server = 0; server < num_servers; ++server) {
      const auto snapshots = Open(job, server);
      for (const int64_t number : numbers) {
        Shard shard(&job, server);
        ASSERT_TRUE(shard.SetLayout(layout_).ok());
        for (const Slice& slice : SlicesOf(job, server)) {
          const auto found = shard.Find(slice.bucket, slice.index);
          ASSERT_TRUE(found.ok()) << found.status();
          const float value = static_cast<float>(slice.number + number);
          EXPECT_TRUE(
              Initialize(*found, Dense(std::vector<float>(slice.size(), value)))
                  .ok());
        }
        auto parts = shard.Save();
        ASSERT_TRUE(parts.ok()) << parts.status();
        snapshots->Save(number, *std::move(parts), {number});
      }
      EXPECT_TRUE(snapshots->Flush().ok());
    }
  }

  std::vector<Slice> SlicesOf(const JobConfig& job, int server) const {
    ShardMapOptions options;
    options.bucket_sizes = layout_.bucket_sizes;
    options.num_servers = job.cluster().num_servers();
    options.max_slice_elements = MaxSliceElements(job);
    const ShardMap map = *ShardMap::Create(options);
    std::vector<Slice> slices;
    for (int b = 0; b < map.num_buckets(); ++b) {
      for (const Slice& slice : map.slices(b)) {
        if (slice.server == server) slices.push_back(slice);
      }
    }
    return slices;
  }

  // That servers of this number go on from what Save saved, and that no others
  // have anything.
  void ExpectShards(int num_servers, int64_t number) {
    const JobConfig job = Job(num_servers);
    for (int server = 0; server < num_servers; ++server) {
      auto parts = Open(job, server)->Take(number);
      ASSERT_TRUE(parts.ok()) << parts.status();
      Shard shard(&job, server);
      ASSERT_TRUE(shard.SetLayout(layout_).ok());
      const absl::Status loaded = shard.Load(*std::move(parts));
      ASSERT_TRUE(loaded.ok()) << loaded;
      for (const Slice& slice : SlicesOf(job, server)) {
        const auto pulled = PullFrom(*shard.Find(slice.bucket, slice.index));
        ASSERT_TRUE(pulled.ok()) << pulled.status();
        const std::vector<float> weights = WeightsOf(*pulled);
        EXPECT_EQ(weights.size(), static_cast<size_t>(slice.size()));
        EXPECT_EQ(weights.front(), slice.number + number);
        EXPECT_EQ(weights.back(), slice.number + number);
      }
    }
    const std::string mine = absl::StrCat("-of-", num_servers, "/");
    for (const auto& entry : files_.contents()) {
      EXPECT_THAT(entry.first, HasSubstr(mine));
    }
  }

  std::string name_ = "job";
  ShardLayout layout_;
  MemoryFiles files_;
};

TEST_F(ReshardTest, EachServerGetsItsSlices) {
  int before = 2;
  Save(before, {10, 20});
  for (const int servers : {1, 3, 9, 2}) {
    const auto done = ReshardServers(&files_, kDirectory, servers);
    ASSERT_TRUE(done.ok()) << done.status();
    EXPECT_EQ(done->from_servers, before);
    EXPECT_THAT(done->numbers, ElementsAre(10, 20));
    ExpectShards(servers, 20);
    const auto again = ReshardServers(&files_, kDirectory, servers);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->from_servers, servers);
    before = servers;
  }
}

TEST_F(ReshardTest, MayBeInterruptedAnywhereAndRepeated) {
  bool interrupted = true;
  for (int changes = 0; interrupted; ++changes) {
    files_.contents().clear();
    Save(2, {10, 20});
    files_.FailAfter(changes);
    interrupted = !ReshardServers(&files_, kDirectory, 3).ok();
    files_.StopFailing();
    files_.LosePower();
    if (interrupted) {
      EXPECT_TRUE(HasOtherShards(&files_, kDirectory, 3)) << changes;
    }
    const int servers = changes % 2 == 0 ? 3 : 2;
    const auto done = ReshardServers(&files_, kDirectory, servers);
    ASSERT_TRUE(done.ok()) << "after " << changes << ": " << done.status();
    ExpectShards(servers, 20);
    EXPECT_TRUE(interrupted || changes > 20) << changes;
  }
}

TEST_F(ReshardTest, WhatIsDamagedIsLeftOut) {
  Save(2, {10, 20});
  files_.contents().at("kept/server-1-of-2/snapshot-20/manifest").bytes += "x";
  const auto done = ReshardServers(&files_, kDirectory, 3);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_THAT(done->numbers, ElementsAre(10));
  ExpectShards(3, 10);
}

TEST_F(ReshardTest, WhatIsLaterIsNotRemoved) {
  Save(3, {10});
  Save(2, {20});
  for (auto it = files_.contents().begin(); it != files_.contents().end();) {
    it = absl::StrContains(it->first, "server-1-of-2")
             ? files_.contents().erase(it)
             : std::next(it);
  }
  const size_t before = files_.contents().size();
  for (const int servers : {2, 3, 4}) {
    const absl::Status refused =
        ReshardServers(&files_, kDirectory, servers).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("server-0-of-2 has snapshot 20, but the latest that "
                          "is whole on all servers is 10, of 3"));
    EXPECT_EQ(files_.contents().size(), before);
  }
}

TEST_F(ReshardTest, FoldersOfTwoJobsAreNotMixed) {
  Save(2, {10});
  const auto files = files_.contents();
  files_.contents().clear();
  name_ = "other";
  Save(2, {10});
  for (const auto& [path, content] : files) {
    if (absl::StrContains(path, "server-1")) files_.contents()[path] = content;
  }
  const absl::Status refused = ReshardServers(&files_, kDirectory, 3).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("server-1-of-2/snapshot-10 is of another job"));
}

TEST_F(ReshardTest, AServerThatRunsIsLeftAlone) {
  Save(2, {10});
  const auto running = Open(Job(2), 1);
  const absl::Status refused = ReshardServers(&files_, kDirectory, 3).status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("server-1-of-2/lock"));
}

TEST_F(ReshardTest, TheBeginningIsKept) {
  const JobConfig job = Job(2);
  for (const int server : {0, 1}) {
    ASSERT_TRUE(Open(job, server)->SaveBeginning().ok());
  }
  Save(2, {10});
  ASSERT_TRUE(ReshardServers(&files_, kDirectory, 3).ok());
  EXPECT_THAT(Open(Job(3), 2)->numbers(), ElementsAre(0, 10));
}

TEST_F(ReshardTest, OtherFoldersAreLeftAlone) {
  for (const char* folder :
       {"worker-0", "worker-12", "worker-0.bak", "worker-00", "worker--1",
        "worker-", "server-0-of-2", "server-0-of-2.bak", "run"}) {
    files_.contents()[absl::StrCat(kDirectory, "/", folder, "/file")] = {};
  }
  EXPECT_THAT(*FindProcesses(&files_, kDirectory),
              ElementsAre("server-0-of-2", "worker-0", "worker-12"));
}

TEST_F(ReshardTest, WithoutAnyWholeSnapshotNothingChanges) {
  Save(2, {10});
  files_.contents().erase("kept/server-1-of-2/snapshot-10/manifest");
  const size_t before = files_.contents().size();
  const absl::Status refused = ReshardServers(&files_, kDirectory, 3).status();
  EXPECT_TRUE(absl::IsNotFound(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr(kDirectory));
  EXPECT_EQ(files_.contents().size(), before);
}

}  // namespace
}  // namespace ps
