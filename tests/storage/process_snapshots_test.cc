#include "storage/process_snapshots.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "storage/snapshot.h"
#include "tests/storage/memory_files.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr char kFolder[] = "kept/server-1-of-2";

class ProcessSnapshotsTest : public testing::Test {
 protected:
  ProcessSnapshotsTest() {
    job_.mutable_checkpoint()->set_directory("kept");
    job_.mutable_checkpoint()->set_keep_last(2);
  }

  absl::StatusOr<std::unique_ptr<ProcessSnapshots>> Open() {
    ProcessSnapshotsOptions options;
    options.files = &files_;
    options.config = &job_;
    options.process = ServerProcess(1, 2);
    options.data_text = data_text_;
    return ProcessSnapshots::Open(options);
  }

  // Others have written them all.
  static constexpr int64_t kAll = 1000;

  void SaveAll(std::initializer_list<int64_t> numbers, int64_t needed = kAll) {
    auto snapshots = Open();
    ASSERT_TRUE(snapshots.ok()) << snapshots.status();
    for (const int64_t number : numbers) {
      (*snapshots)
          ->Save(number, {{"state", "at " + std::to_string(number)}}, {needed});
    }
    EXPECT_TRUE((*snapshots)->Flush().ok());
  }

  MemoryFiles files_;
  JobConfig job_;
  std::string data_text_;
};

TEST_F(ProcessSnapshotsTest, KeepsTheLastOnesWhileItWritesTheNext) {
  SaveAll({10, 20, 30, 40});
  const auto again = Open();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT((*again)->numbers(), ElementsAre(20, 30, 40));
  const auto parts = (*again)->Take(40);
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_THAT(*parts, ElementsAre(Pair("state", "at 40")));
}

TEST_F(ProcessSnapshotsTest, ProcessesNameTheirFolders) {
  EXPECT_EQ(ServerProcess(0, 3), "server-0-of-3");
  EXPECT_EQ(NumServersOf("server-0-of-3"), 3);
  EXPECT_EQ(NumServersOf("server-11-of-12"), 12);
  for (const char* other :
       {"server-3-of-3", "server--1-of-3", "server-0", "server-0-of-",
        "server-0-of-3x", "server-00-of-3", "worker-0-of-3", ""}) {
    EXPECT_EQ(NumServersOf(other), std::nullopt) << other;
  }
  EXPECT_EQ(WorkerProcess(7), "worker-7");
}

TEST_F(ProcessSnapshotsTest, OnlyServersDependOnTheirNumber) {
  SaveAll({10});
  job_.mutable_cluster()->set_num_servers(5);
  ProcessSnapshotsOptions options;
  options.files = &files_;
  options.config = &job_;
  options.process = ServerProcess(1, 2);
  const absl::Status refused = ProcessSnapshots::Open(options).status();
  EXPECT_THAT(std::string(refused.message()), HasSubstr("cluster.num_servers"));
  options.any_num_servers = true;
  const auto taken = ProcessSnapshots::Open(options);
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_THAT((*taken)->numbers(), ElementsAre(10));
}

TEST_F(ProcessSnapshotsTest, TwoDoNotShareAFolder) {
  const std::string directory = testing::TempDir() + "/shared";
  job_.mutable_checkpoint()->set_directory(directory);
  ProcessSnapshotsOptions options;
  options.config = &job_;
  options.process = WorkerProcess(3);
  auto first = ProcessSnapshots::Open(options);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status refused = ProcessSnapshots::Open(options).status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(
      std::string(refused.message()),
      HasSubstr("another process has locked " + directory + "/worker-3/lock"));
  first->reset();
  EXPECT_TRUE(ProcessSnapshots::Open(options).ok());
}

TEST_F(ProcessSnapshotsTest, WhatAnotherProcessMayNeedStays) {
  SaveAll({10, 20, 30, 40, 50}, /*needed=*/20);
  EXPECT_THAT((*Open())->numbers(), ElementsAre(20, 30, 40, 50));
  EXPECT_EQ((*Open())->latest(), 50);
}

TEST_F(ProcessSnapshotsTest, TheBeginningIsOneToo) {
  ASSERT_TRUE((*Open())->SaveBeginning().ok());
  EXPECT_THAT((*Open())->numbers(), ElementsAre(0));
  EXPECT_THAT(*(*Open())->Take(0), IsEmpty());
  SaveAll({10}, /*needed=*/0);
  EXPECT_THAT((*Open())->numbers(), ElementsAre(0, 10));
  // What is damaged was saved after the beginning, which must not be repeated
  // as if it were not there.
  files_.contents().at(std::string(kFolder) + "/snapshot-10/state").bytes +=
      "x";
  EXPECT_THAT((*Open())->numbers(), IsEmpty());
}

TEST_F(ProcessSnapshotsTest, GoesBackForGood) {
  SaveAll({10, 20, 30});
  EXPECT_TRUE((*Open())->Take(20).ok());
  EXPECT_THAT((*Open())->numbers(), ElementsAre(10, 20));
  EXPECT_TRUE(absl::IsNotFound((*Open())->Take(30).status()));
}

TEST_F(ProcessSnapshotsTest, AFullDiskCostsOnlyTheNewSnapshot) {
  SaveAll({10, 20});
  auto snapshots = Open();
  int failures = 0;
  for (;; ++failures) {
    files_.FailAfter(failures);
    (*snapshots)->Save(30, {{"state", "at 30"}, {"more", "bytes"}}, {kAll});
    const absl::Status saved = (*snapshots)->Flush();
    files_.StopFailing();
    if (saved.ok()) break;
    EXPECT_TRUE(absl::IsResourceExhausted(saved)) << saved;
    EXPECT_THAT(*ListSnapshots(&files_, kFolder), ElementsAre(10, 20));
    EXPECT_TRUE(VerifySnapshot(&files_, kFolder, 20).ok());
  }
  EXPECT_GT(failures, 5);
  snapshots->reset();
  EXPECT_THAT((*Open())->numbers(), ElementsAre(10, 20, 30));
}

TEST_F(ProcessSnapshotsTest, DamagedOnesDoNotCount) {
  SaveAll({10, 20});
  files_.contents().at(std::string(kFolder) + "/snapshot-20/state").bytes[3] ^=
      1;
  EXPECT_THAT((*Open())->numbers(), ElementsAre(10));
  EXPECT_THAT((*Open())->damaged(), ElementsAre(20));
  files_.contents().erase(std::string(kFolder) + "/snapshot-10/manifest");
  EXPECT_THAT((*Open())->numbers(), IsEmpty());
}

TEST_F(ProcessSnapshotsTest, OnlyTheLatestMustBeReadable) {
  SaveAll({10, 20, 30});
  files_.FailToRead(std::string(kFolder) + "/snapshot-20/state");
  EXPECT_THAT((*Open())->numbers(), ElementsAre(10, 30));
  EXPECT_THAT((*Open())->damaged(), ElementsAre(20));
  // It may pass, and is no reason to go back.
  files_.FailToRead(std::string(kFolder) + "/snapshot-30/state");
  const absl::Status refused = Open().status();
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.message()), HasSubstr("snapshot-30/state"));
}

TEST_F(ProcessSnapshotsTest, TheJobMustBeTheSame) {
  SaveAll({10});
  job_.mutable_checkpoint()->set_every(7);
  job_.mutable_data()->set_directory("elsewhere");
  EXPECT_TRUE(Open().ok());
  job_.set_seed(9);
  const absl::Status refused = Open().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("seed: 1 there and 9 here"));
}

TEST_F(ProcessSnapshotsTest, TheDataMustBeTheSame) {
  data_text_ = "class 0: \"cat\"\n";
  SaveAll({10});
  EXPECT_TRUE(Open().ok());
  data_text_ = "class 0: \"dog\"\n";
  const absl::Status refused = Open().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("snapshot 10 in kept/server-1-of-2 was made with other "
                        "data (there: the snapshot, here: data.directory): "
                        "class 0: \"cat\" there and \"dog\" here"));
}

// As those of servers, and of workers before this was kept.
TEST_F(ProcessSnapshotsTest, OneThatSaysNothingOfDataFitsAll) {
  SaveAll({10});
  data_text_ = "class 0: \"dog\"\n";
  EXPECT_TRUE(Open().ok());
}

TEST_F(ProcessSnapshotsTest, AFolderThatCannotBeMadeIsNamedAtOnce) {
  files_.FailAfter(0);
  const absl::Status refused = Open().status();
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("checkpoint.directory"));
}

}  // namespace
}  // namespace ps
