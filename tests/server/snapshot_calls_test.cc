// The calls about snapshots, by workers that come late, twice or not at all.
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/raw_worker.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kElements = 100;

WorkerId IdOf(int rank) {
  WorkerId id;
  id.set_rank(rank);
  id.set_incarnation(1);
  return id;
}

class SnapshotCalls : public testing::Test {
 protected:
  SnapshotCalls()
      : config_(PatientJob(/*num_workers=*/2)),
        server_(config_),
        worker_(server_.address()) {
    for (int rank = 0; rank < 2; ++rank) {
      const absl::Status registered = worker_.Register(
          RawWorker::ValidRegistration(config_, IdOf(rank), {kElements}));
      EXPECT_TRUE(registered.ok()) << registered;
    }
  }

  template <typename Request>
  absl::StatusOr<std::string> Call(const std::string& method, int rank,
                                   Request request) {
    *request.mutable_worker() = IdOf(rank);
    return worker_.Call(method, request.SerializeAsString());
  }

  absl::Status Save(int rank, int64_t number) {
    SaveSnapshotRequest request;
    request.set_number(number);
    return Call("SaveSnapshot", rank, request).status();
  }

  const JobConfig config_;
  RunningServer server_;
  RawWorker worker_;
};

TEST_F(SnapshotCalls, AllWorkersMeet) {
  for (const int64_t number : {5, 10}) {
    absl::Status first;
    std::thread early([&] { first = Save(0, number); });
    EXPECT_TRUE(Save(1, number).ok());
    early.join();
    EXPECT_TRUE(first.ok()) << first;
    // Its answer may have been lost.
    EXPECT_TRUE(Save(1, number).ok());
  }
}

TEST_F(SnapshotCalls, ARepeatTakesThePlaceOfTheFirstCall) {
  absl::Status calls[2];
  std::thread one([&] { calls[0] = Save(0, 5); });
  std::thread other([&] { calls[1] = Save(0, 5); });
  EXPECT_TRUE(Save(1, 5).ok());
  one.join();
  other.join();
  // Whichever came first; after the meeting, a call gets its answer again.
  for (const absl::Status& call : calls) {
    EXPECT_TRUE(call.ok() || absl::IsCancelled(call)) << call;
  }
  EXPECT_TRUE(calls[0].ok() || calls[1].ok());
}

TEST_F(SnapshotCalls, WorkersAtDifferentPushesAreRefused) {
  absl::Status first;
  std::thread early([&] { first = Save(0, 5); });
  const absl::Status second = Save(1, 10);
  early.join();
  EXPECT_TRUE(absl::IsFailedPrecondition(first)) << first;
  EXPECT_TRUE(absl::IsFailedPrecondition(second)) << second;
  EXPECT_THAT(std::string(first.message()), HasSubstr("5"));
}

TEST_F(SnapshotCalls, AServerThatKeepsNothingSaysSo) {
  std::vector<absl::StatusOr<std::string>> answers(
      2, absl::UnknownError("no answer"));
  FindSnapshotsRequest request;
  request.add_snapshots(20);
  request.add_snapshots(10);
  std::thread early([&] { answers[0] = Call("FindSnapshots", 0, request); });
  answers[1] = Call("FindSnapshots", 1, FindSnapshotsRequest());
  early.join();
  for (const auto& answer : answers) {
    ASSERT_TRUE(answer.ok()) << answer.status();
    FindSnapshotsResponse response;
    ASSERT_TRUE(response.ParseFromString(*answer));
    EXPECT_THAT(response.snapshots(), IsEmpty());
    EXPECT_THAT(response.holdings(), ElementsAre("worker 0 has 10, 20"));
  }
  RestoreRequest restore;
  restore.set_number(10);
  const absl::Status refused = Call("Restore", 0, restore).status();
  EXPECT_TRUE(absl::IsNotFound(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("checkpoint.directory"));
}

TEST_F(SnapshotCalls, StrangersAreRefused) {
  for (const std::string method :
       {"FindSnapshots", "Restore", "SaveSnapshot", "Stop"}) {
    SaveSnapshotRequest request;
    const absl::Status refused = Call(method, 7, request).status();
    EXPECT_FALSE(refused.ok()) << method;
    const absl::Status broken = worker_.Call(method, "\xff\xff").status();
    EXPECT_FALSE(broken.ok()) << method;
  }
  EXPECT_TRUE(worker_.GetStatus().ok());
}

}  // namespace
}  // namespace ps
