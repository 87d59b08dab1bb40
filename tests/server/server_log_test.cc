// What a server writes down, and what it reads again from damaged or incomplete
// files.
#include "server/log/server_log.h"

#include <memory>
#include <string>
#include <vector>

#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/slices/weight_slice.h"
#include "tests/server/slice_calls.h"
#include "tests/storage/memory_files.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int64_t kElements = 8;
constexpr int64_t kManyBytes = 1 << 30;

class ServerLogTest : public testing::Test {
 protected:
  std::unique_ptr<ServerLog> Open(int64_t max_bytes = kManyBytes,
                                  bool sync = false) {
    auto log = ServerLog::Open({&files_, "kept", max_bytes, sync});
    EXPECT_TRUE(log.ok()) << log.status();
    return *std::move(log);
  }

  static UpdateRecord Update(int64_t iteration) {
    UpdateRecord update;
    update.stop = iteration % 2 == 1;
    for (int rank = 0; rank < 2; ++rank) {
      update.pushes.push_back(
          PushOf(rank, iteration, std::vector<float>(kElements, rank + 0.5f)));
      update.pushes.back().base_version = iteration;
      update.pushes.back().samples = rank + 4;
    }
    update.pushes[0].compress_next = true;
    return update;
  }

  absl::Status Append(ServerLog* log, int64_t version) {
    return log->AppendUpdate("slice-0-0", version, Update(version));
  }

  MemoryFiles files_;
};

TEST_F(ServerLogTest, IsReadAsItWasWritten) {
  {
    const auto log = Open();
    EXPECT_FALSE(log->latest().has_value());
    RegisterRequest layout;
    layout.add_bucket_sizes(kElements);
    ASSERT_TRUE(log->Begin(0, 0xabc, layout).ok());
    const PayloadBuffer first = EncodeDense(std::vector<float>(kElements, 3));
    ASSERT_TRUE(log->AppendInitialWeights("slice-0-0", {first.span()}).ok());
    ASSERT_TRUE(log->AppendNorms({0, 0}, {{1, 4, 2}, {3, 5, 6}}).ok());
    UpdateRecord update = Update(0);
    update.totals.resize(1);
    ASSERT_TRUE(log->AppendUpdate("slice-0-0", 0, update).ok());
    ASSERT_TRUE(log->Begin(1, 0xabc, layout).ok());
    ASSERT_TRUE(Append(log.get(), 1).ok());
  }
  const auto log = Open();
  ASSERT_TRUE(log->latest().has_value());
  EXPECT_EQ(log->latest()->number, 1);
  EXPECT_EQ(log->latest()->epoch, 0xabcu);
  const auto job = log->Read(0);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->num_updates, 2);
  EXPECT_THAT(job->layout.bucket_sizes(), ElementsAre(kElements));
  const SliceHistory& history = job->slices.at("slice-0-0");
  EXPECT_TRUE(history.first.has_value());
  ASSERT_THAT(history.updates, SizeIs(2));
  const UpdateRecord& update = history.updates.at(0);
  EXPECT_FALSE(update.stop);
  EXPECT_TRUE(history.updates.at(1).stop);
  ASSERT_THAT(update.totals, SizeIs(1));
  EXPECT_EQ(update.totals[0].norm, 3);
  ASSERT_THAT(update.pushes, SizeIs(2));
  const WorkerPush& push = update.pushes[1];
  const WorkerPush written = Update(0).pushes[1];
  EXPECT_EQ(push.rank, 1);
  EXPECT_EQ(push.loss, written.loss);
  EXPECT_EQ(push.count, written.count);
  EXPECT_EQ(push.message_bytes, written.message_bytes);
  EXPECT_EQ(push.samples, 5);
  EXPECT_TRUE(push.dense);
  EXPECT_FALSE(push.compress_next.has_value());
  EXPECT_TRUE(*update.pushes[0].compress_next);
  EXPECT_EQ(push.payload.pieces[0], written.payload.pieces[0]);
}

TEST_F(ServerLogTest, GoesOnAfterEveryCut) {
  size_t begun = 0;
  {
    const auto log = Open();
    ASSERT_TRUE(log->Begin(7, 1, {}).ok());
    begun = files_.contents()[Open()->latest()->path].bytes.size();
    for (int64_t version = 7; version < 10; ++version) {
      ASSERT_TRUE(Append(log.get(), version).ok());
    }
  }
  const std::string path = Open()->latest()->path;
  const std::string whole = files_.contents()[path].bytes;
  int64_t most = 3;
  for (size_t size = whole.size(); size >= begun; --size) {
    files_.contents()[path].bytes = whole.substr(0, size);
    const auto log = Open();
    const auto job = log->Read(7);
    ASSERT_TRUE(job.ok()) << size << ": " << job.status();
    EXPECT_LE(job->num_updates, most);
    most = job->num_updates;
    ASSERT_TRUE(log->Continue().ok());
    ASSERT_TRUE(Append(log.get(), 7 + most).ok());
    EXPECT_EQ(Open()->Read(7)->num_updates, most + 1);
  }
  EXPECT_EQ(most, 0);
  // What begins a log came with its name, and cannot be missing.
  files_.contents()[path].bytes = whole.substr(0, begun - 1);
  EXPECT_TRUE(absl::IsDataLoss(Open()->Read(7).status()));
}

TEST_F(ServerLogTest, AFlippedBitIsFoundAndNamed) {
  {
    const auto log = Open();
    ASSERT_TRUE(log->Begin(7, 1, {}).ok());
    ASSERT_TRUE(Append(log.get(), 7).ok());
    ASSERT_TRUE(Append(log.get(), 8).ok());
  }
  const std::string path = Open()->latest()->path;
  const std::string whole = files_.contents()[path].bytes;
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    files_.contents()[path].bytes = whole;
    files_.contents()[path].bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
    const absl::Status read = Open()->Read(7).status();
    EXPECT_TRUE(absl::IsDataLoss(read)) << bit << ": " << read;
    EXPECT_THAT(std::string(read.message()), HasSubstr(path));
  }
}

TEST_F(ServerLogTest, WhatIsMissingIsNamed) {
  const auto log = Open();
  ASSERT_TRUE(log->Begin(7, 1, {}).ok());
  EXPECT_TRUE(absl::IsDataLoss(Open()->Read(5).status()));
  UpdateRecord update = Update(7);
  update.totals.resize(1);
  ASSERT_TRUE(log->AppendUpdate("slice-0-0", 7, update).ok());
  const absl::Status without_norms = Open()->Read(7).status();
  EXPECT_TRUE(absl::IsDataLoss(without_norms));
  EXPECT_THAT(std::string(without_norms.message()),
              HasSubstr("record 1: lacks exchange 0 of norms of update 7"));
}

TEST_F(ServerLogTest, AnotherVersionIsNamed) {
  ASSERT_TRUE(Open()->Begin(7, 1, {}).ok());
  std::string record;
  {
    const std::string path = Open()->latest()->path;
    const auto log = RecordLogReader::Open(&files_, path);
    ASSERT_TRUE(log.ok() && log->records().size() == 1) << log.status();
    record = std::string(log->records()[0]);
    ASSERT_TRUE(files_.Remove(path).ok());
    // The field `protocol` of the only message.
    const size_t protocol = record.find("\x10\x01");
    ASSERT_NE(protocol, std::string::npos);
    ++record[protocol + 1];
    auto other = RecordLogWriter::Create(&files_, path);
    ASSERT_TRUE(other.ok() && other->Append({record}).ok()) << other.status();
  }
  const absl::Status read = Open()->Read(7).status();
  EXPECT_TRUE(absl::IsDataLoss(read)) << read;
  EXPECT_THAT(std::string(read.message()),
              HasSubstr("record 0: has protocol 2; this program has 1"));
}

// A job that goes back drops what followed; snapshots drop what they replace.
TEST_F(ServerLogTest, KeepsOneLine) {
  const auto log = Open();
  for (const int64_t number : {0, 10, 20}) {
    ASSERT_TRUE(log->Begin(number, 1, {}).ok());
  }
  ASSERT_TRUE(log->Begin(10, 2, {}).ok());
  auto segments = ListLogSegments(&files_, "kept");
  ASSERT_TRUE(segments.ok()) << segments.status();
  std::vector<std::string> paths;
  for (const LogSegment& segment : *segments) paths.push_back(segment.path);
  EXPECT_THAT(paths, ElementsAre("kept/log-0-0000000000000001",
                                 "kept/log-10-0000000000000002"));
  files_.contents()["kept/snapshot-10/manifest"] = {};
  ASSERT_TRUE(log->Begin(20, 2, {}).ok());
  EXPECT_THAT(*ListLogSegments(&files_, "kept"), SizeIs(2));
}

TEST_F(ServerLogTest, ALongOneIsNotContinued) {
  const auto log = Open(/*max_bytes=*/1000);
  ASSERT_TRUE(log->Begin(0, 1, {}).ok());
  for (int64_t version = 0; version < 100; ++version) {
    ASSERT_TRUE(Append(log.get(), version).ok());
  }
  EXPECT_FALSE(Open()->latest().has_value());
  EXPECT_TRUE(absl::IsDataLoss(Open()->Read(0).status()));
  for (const auto& entry : files_.contents()) {
    EXPECT_LE(entry.second.bytes.size(), 1200u) << entry.first;
  }
  // Until the next snapshot.
  ASSERT_TRUE(log->Begin(100, 1, {}).ok());
  ASSERT_TRUE(Append(log.get(), 100).ok());
  EXPECT_EQ(Open()->Read(100)->num_updates, 1);
}

TEST_F(ServerLogTest, WhatWasSyncedSurvivesALossOfPower) {
  for (const bool sync : {false, true}) {
    const auto log = Open(kManyBytes, sync);
    ASSERT_TRUE(log->Begin(0, 1, {}).ok());
    ASSERT_TRUE(Append(log.get(), 0).ok());
    files_.LosePower();
    EXPECT_EQ(Open()->Read(0).ok() && Open()->Read(0)->num_updates == 1, sync);
  }
}

TEST_F(ServerLogTest, ABeginningSurvivesALossOfPower) {
  ASSERT_TRUE(Open(kManyBytes, /*sync=*/true)->Begin(10, 1, {}).ok());
  files_.LosePower();
  EXPECT_EQ(Open()->Read(10)->num_updates, 0);
}

// Whatever fails, and however a caller repeats what it wanted to write.
TEST_F(ServerLogTest, TakesNothingAfterAFailure) {
  for (const bool sync : {false, true}) {
    for (int changes = 0;; ++changes) {
      const auto log = Open(/*max_bytes=*/1000, sync);
      ASSERT_TRUE(log->Begin(0, 1, {}).ok());
      files_.FailAfter(changes);
      absl::Status status;
      int64_t version = 0;
      while (status.ok() && version < 20) status = Append(log.get(), version++);
      files_.StopFailing();
      if (status.ok()) break;
      EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr("checkpoint.durability"));
      EXPECT_FALSE(Append(log.get(), version).ok()) << changes;
      // A snapshot begins anew.
      EXPECT_TRUE(log->Begin(20, 1, {}).ok());
      EXPECT_TRUE(Append(log.get(), 20).ok());
    }
  }
}

// No answer leaves that is not written down.
TEST_F(ServerLogTest, AFullDiskFailsTheSlice) {
  JobConfig config;
  config.mutable_cluster()->set_num_workers(1);
  config.mutable_optimizer()->set_name("sgd");
  SliceOptions options = OptionsOf(config, kElements);
  options.name = "slice-0-0";
  const auto log = Open();
  ASSERT_TRUE(log->Begin(0, 1, {}).ok());
  WeightSlice slice(options, nullptr, nullptr, SteadyClock(), log.get());
  ASSERT_TRUE(Initialize(&slice, Dense(std::vector<float>(kElements, 1))).ok());
  Answers answered, refused, late;
  slice.Push(Update(0).pushes[0], answered.Taker());
  EXPECT_TRUE(answered.OnlyStatus().ok()) << answered.OnlyStatus();
  files_.FailAfter(0);
  slice.Push(Update(1).pushes[0], refused.Taker());
  EXPECT_TRUE(absl::IsResourceExhausted(refused.OnlyStatus()));
  EXPECT_THAT(std::string(refused.OnlyStatus().message()),
              HasSubstr("kept/log-0-0000000000000001"));
  files_.StopFailing();
  slice.Push(Update(1).pushes[0], late.Taker());
  EXPECT_TRUE(absl::IsResourceExhausted(late.OnlyStatus()));
  EXPECT_EQ(Open()->Read(0)->num_updates, 1);
}

}  // namespace
}  // namespace ps
