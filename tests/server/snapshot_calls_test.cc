// The calls about snapshots, by workers that come late, twice or not at all.
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "grpcpp/client_context.h"
#include "gtest/gtest.h"
#include "storage/process_snapshots.h"
#include "tests/server/raw_worker.h"
#include "transport/grpc_status.h"

namespace ps {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kElements = 100;

WorkerId IdOf(int rank, uint64_t incarnation = 1) {
  WorkerId id;
  id.set_rank(rank);
  id.set_incarnation(incarnation);
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
  // A worker that was started again arrives at earlier barriers once more.
  EXPECT_TRUE(Save(1, 5).ok());
}

TEST_F(SnapshotCalls, ARepeatTakesThePlaceOfTheFirstCall) {
  absl::Status calls[2];
  std::thread one([&] { calls[0] = Save(0, 5); });
  std::thread other([&] { calls[1] = Save(0, 5); });
  EXPECT_TRUE(Save(1, 5).ok());
  one.join();
  other.join();
  // Whichever came first; after the barrier, a call gets its answer again.
  for (const absl::Status& call : calls) {
    EXPECT_TRUE(call.ok() || absl::IsCancelled(call)) << call;
  }
  EXPECT_TRUE(calls[0].ok() || calls[1].ok());
}

TEST_F(SnapshotCalls, WorkersAtDifferentPushesAreAllStartedAgain) {
  absl::Status first;
  std::thread early([&] { first = Save(0, 5); });
  const absl::Status second = Save(1, 10);
  early.join();
  for (const absl::Status& status : {first, second}) {
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("made 5"), HasSubstr("made 10"),
                      HasSubstr("started again")));
  }
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
  // There is no log to go back with.
  for (const int rank : {0, 1}) {
    restore.set_alone(true);
    const absl::Status alone = Call("Restore", rank, restore).status();
    EXPECT_TRUE(absl::IsInvalidArgument(alone)) << alone;
  }
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

// A server that was killed, and workers that were not.
class RecoveredServer : public testing::Test {
 protected:
  RecoveredServer() : config_(PatientJob(/*num_workers=*/2)) {
    config_.mutable_optimizer()->set_name("sgd");
    config_.mutable_checkpoint()->set_directory(testing::TempDir() +
                                                "/recovered_server");
    fs::remove_all(config_.checkpoint().directory());
  }

  static constexpr uint64_t kRecovering = 0;

  absl::StatusOr<uint64_t> Register(RawWorker* worker, int rank, uint64_t epoch,
                                    uint64_t incarnation = 1) {
    RegisterRequest request = RawWorker::ValidRegistration(
        config_, IdOf(rank, incarnation), {kElements});
    request.set_keeps_snapshots(true);
    request.set_epoch(epoch);
    grpc::ClientContext context;
    RegisterResponse response;
    const absl::Status status =
        FromGrpcStatus(worker->stub()->Register(&context, request, &response));
    if (!status.ok()) return status;
    if (!response.not_yet().empty()) {
      return absl::UnavailableError(response.not_yet());
    }
    return response.recovering() ? kRecovering : response.epoch();
  }

  // As a session does while the server reads its log.
  absl::StatusOr<uint64_t> RegisterAgain(RawWorker* worker, int rank,
                                         uint64_t epoch,
                                         uint64_t incarnation = 1) {
    for (;;) {
      const auto registered = Register(worker, rank, epoch, incarnation);
      if (!registered.ok() || *registered != kRecovering) return registered;
    }
  }

  // Worker 1's second process registers and goes back to this snapshot.
  absl::Status GoBackAlone(RawWorker* worker, int64_t number) {
    const auto registered = Register(worker, 1, 0, /*incarnation=*/2);
    if (!registered.ok()) return registered.status();
    RestoreRequest restore;
    *restore.mutable_worker() = IdOf(1, 2);
    restore.set_alone(true);
    restore.set_number(number);
    return worker->Call("Restore", restore.SerializeAsString()).status();
  }

  absl::StatusOr<std::string> CallSlice(RawWorker* worker,
                                        const std::string& method, int rank,
                                        float value, int64_t iteration = 0,
                                        uint64_t incarnation = 1) {
    SliceMessage header;
    *header.mutable_worker() = IdOf(rank, incarnation);
    header.set_iteration(iteration);
    return worker->Call(
        method, MessageBytes(
                    header, EncodeDense(std::vector<float>(kElements, value))));
  }

  // Both workers, with their initial weights; returns the epoch.
  uint64_t Begin(RawWorker* worker) {
    uint64_t epoch = 0;
    for (int rank = 0; rank < 2; ++rank) epoch = *Register(worker, rank, 0);
    const auto find = [&](int rank) {
      FindSnapshotsRequest request;
      *request.mutable_worker() = IdOf(rank);
      EXPECT_TRUE(
          worker->Call("FindSnapshots", request.SerializeAsString()).ok());
    };
    std::thread late([&] { find(1); });
    find(0);
    late.join();
    EXPECT_TRUE(CallSlice(worker, "InitializeSlice", 0, 5).ok());
    return epoch;
  }

  // Both workers, until after the first update; returns the epoch.
  uint64_t TrainOnce() {
    RunningServer server(config_);
    RawWorker worker(server.address());
    const uint64_t epoch = Begin(&worker);
    std::thread other(
        [&] { EXPECT_TRUE(CallSlice(&worker, "Push", 1, 2).ok()); });
    const auto answer = CallSlice(&worker, "Push", 0, 1);
    other.join();
    EXPECT_TRUE(answer.ok()) << answer.status();
    answer_ = *answer;
    return epoch;
  }

  std::string LogFile() const {
    std::string found;
    for (const auto& entry : fs::directory_iterator(
             absl::StrCat(config_.checkpoint().directory(), "/",
                          ServerProcess(0, config_.cluster().num_servers())))) {
      const std::string path = entry.path().string();
      if (absl::StrContains(path, "/log-")) found = path;
    }
    return found;
  }

  JobConfig config_;
  std::string answer_;
};

// Its former process may be dead: it must not take the server for unreachable.
TEST_F(RecoveredServer, AWorkerWhoseRankIsTakenIsToldSo) {
  RunningServer server(config_);
  RawWorker worker(server.address());
  ASSERT_TRUE(Register(&worker, 0, 0).ok());
  AttendRequest attend;
  *attend.mutable_worker() = IdOf(0);
  grpc::ClientContext attending;
  const auto events = worker.stub()->Attend(&attending, attend);
  events->WaitForInitialMetadata();
  RegisterRequest request = RawWorker::ValidRegistration(
      config_, IdOf(0, /*incarnation=*/2), {kElements});
  request.set_keeps_snapshots(true);
  grpc::ClientContext context;
  RegisterResponse response;
  const absl::Status status =
      FromGrpcStatus(worker.stub()->Register(&context, request, &response));
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(response.not_yet(), HasSubstr("rank 0 is taken by worker 0"));
  attending.TryCancel();
  EXPECT_EQ(events->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

// Two that were killed at different times may each lack what the other has.
TEST_F(RecoveredServer, TellsWhichSnapshotsAllHave) {
  RunningServer server(config_);
  RawWorker worker(server.address());
  Begin(&worker);
  const auto save = [&](int rank, int64_t number,
                        const std::vector<int64_t>& written) {
    SaveSnapshotRequest request;
    *request.mutable_worker() = IdOf(rank);
    request.set_number(number);
    request.mutable_written()->Add(written.begin(), written.end());
    SaveSnapshotResponse response;
    const auto answer =
        worker.Call("SaveSnapshot", request.SerializeAsString());
    EXPECT_TRUE(answer.ok()) << answer.status();
    EXPECT_TRUE(response.ParseFromString(*answer));
    EXPECT_THAT(response.written(), ElementsAre(0)) << "snapshot " << number;
  };
  const auto save_both = [&](int64_t number,
                             const std::vector<int64_t>& of_worker_0,
                             const std::vector<int64_t>& of_worker_1) {
    std::thread other([&] { save(1, number, of_worker_1); });
    save(0, number, of_worker_0);
    other.join();
  };
  save_both(2, {0}, {0});
  save_both(4, {0}, {0, 2});
  save_both(6, {0, 4}, {0, 2});
}

TEST_F(RecoveredServer, GoesOnWithTheWorkersThatItHad) {
  const uint64_t epoch = TrainOnce();
  for (int life = 0; life < 3; ++life) {
    RunningServer server(config_);
    RawWorker worker(server.address());
    for (int rank = 0; rank < 2; ++rank) {
      const auto registered = RegisterAgain(&worker, rank, epoch);
      ASSERT_TRUE(registered.ok()) << registered.status();
      EXPECT_EQ(*registered, epoch);
    }
    EXPECT_EQ(worker.GetStatus()->version(), 1);
    // The answer may have been lost; what the server measured may differ.
    SliceMessage before, after;
    ASSERT_TRUE(before.ParseFromString(answer_));
    const auto repeated = CallSlice(&worker, "Push", 0, 1);
    ASSERT_TRUE(repeated.ok()) << repeated.status();
    ASSERT_TRUE(after.ParseFromString(*repeated));
    EXPECT_EQ(after.payload(), before.payload());
    EXPECT_EQ(after.iteration(), before.iteration());
    // Nothing is counted twice.
    EXPECT_EQ(worker.GetStatus()->version(), 1);
    // Nobody else would arrive at this barrier again.
    FindSnapshotsRequest request;
    *request.mutable_worker() = IdOf(1);
    const auto found =
        worker.Call("FindSnapshots", request.SerializeAsString());
    ASSERT_TRUE(found.ok()) << found.status();
    FindSnapshotsResponse response;
    ASSERT_TRUE(response.ParseFromString(*found));
    EXPECT_THAT(response.snapshots(), ElementsAre(0));
    EXPECT_THAT(response.holdings(), IsEmpty());
  }
}

// The host of worker 0 was lost, and that worker is the first one to come.
TEST_F(RecoveredServer, WaitsForAWorkerThatKnowsItsEpoch) {
  const uint64_t epoch = TrainOnce();
  RunningServer server(config_);
  RawWorker worker(server.address());
  EXPECT_EQ(*Register(&worker, 0, 0, /*incarnation=*/2), kRecovering);
  // Nor does an epoch of long ago decide anything.
  const auto other = Register(&worker, 1, epoch + 1);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_NE(*other, epoch + 1);
  EXPECT_EQ(*Register(&worker, 0, 0, /*incarnation=*/2), kRecovering);
  EXPECT_EQ(*RegisterAgain(&worker, 1, epoch), epoch);
  EXPECT_EQ(worker.GetStatus()->version(), 1);
  EXPECT_EQ(*Register(&worker, 0, 0, /*incarnation=*/2), epoch);
  FindSnapshotsRequest find;
  *find.mutable_worker() = IdOf(0, 2);
  find.add_snapshots(0);
  const auto found = worker.Call("FindSnapshots", find.SerializeAsString());
  ASSERT_TRUE(found.ok()) << found.status();
  FindSnapshotsResponse response;
  ASSERT_TRUE(response.ParseFromString(*found));
  EXPECT_TRUE(response.alone());
}

// A worker was killed, too, and is started again.
TEST_F(RecoveredServer, LetsAWorkerGoBackAlone) {
  const uint64_t epoch = TrainOnce();
  for (const float value : {2.0f, 2.5f}) {
    RunningServer server(config_);
    RawWorker worker(server.address());
    ASSERT_TRUE(RegisterAgain(&worker, 0, epoch).ok());
    const auto registered = Register(&worker, 1, 0, /*incarnation=*/2);
    ASSERT_TRUE(registered.ok()) << registered.status();
    EXPECT_EQ(*registered, epoch);
    FindSnapshotsRequest find;
    *find.mutable_worker() = IdOf(1, 2);
    for (const int64_t number : {0, 20}) find.add_snapshots(number);
    const auto found = worker.Call("FindSnapshots", find.SerializeAsString());
    ASSERT_TRUE(found.ok()) << found.status();
    FindSnapshotsResponse response;
    ASSERT_TRUE(response.ParseFromString(*found));
    EXPECT_TRUE(response.alone());
    EXPECT_THAT(response.snapshots(), ElementsAre(0));
    RestoreRequest restore;
    *restore.mutable_worker() = IdOf(1, 2);
    restore.set_alone(true);
    ASSERT_TRUE(worker.Call("Restore", restore.SerializeAsString()).ok());
    const auto pushed = CallSlice(&worker, "Push", 1, value, 0, 2);
    if (value != 2) {
      EXPECT_TRUE(absl::IsUnavailable(pushed.status())) << pushed.status();
      EXPECT_THAT(std::string(pushed.status().message()),
                  HasSubstr("does not repeat what it pushed in iteration 0"));
      EXPECT_FALSE(Register(&worker, 0, epoch).ok());
      continue;
    }
    ASSERT_TRUE(pushed.ok()) << pushed.status();
    SliceMessage before, after;
    ASSERT_TRUE(before.ParseFromString(answer_));
    ASSERT_TRUE(after.ParseFromString(*pushed));
    EXPECT_EQ(after.payload(), before.payload());
    EXPECT_EQ(worker.GetStatus()->version(), 1);
  }
}

// It was killed when the worker had gone back, and before it pulled.
TEST_F(RecoveredServer, DoesNotGiveTheWeightsOfNowToAWorkerThatWentBack) {
  const uint64_t epoch = TrainOnce();
  {
    RunningServer server(config_);
    RawWorker worker(server.address());
    ASSERT_TRUE(RegisterAgain(&worker, 0, epoch).ok());
    ASSERT_TRUE(GoBackAlone(&worker, 0).ok());
  }
  RunningServer server(config_);
  RawWorker worker(server.address());
  ASSERT_TRUE(RegisterAgain(&worker, 1, epoch, /*incarnation=*/2).ok());
  SliceMessage pull;
  *pull.mutable_worker() = IdOf(1, 2);
  const absl::Status refused =
      worker.Call("Pull", pull.SerializeAsString()).status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("needs the weights after 0 updates"),
                    HasSubstr("at version 1")));
  EXPECT_FALSE(Register(&worker, 0, epoch).ok());
}

TEST_F(RecoveredServer, EndsWhenAWorkerCannotGoBack) {
  const uint64_t epoch = TrainOnce();
  RunningServer server(config_);
  RawWorker worker(server.address());
  ASSERT_TRUE(RegisterAgain(&worker, 0, epoch).ok());
  const absl::Status refused = GoBackAlone(&worker, 20);
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("cannot go back to snapshot 20"));
  EXPECT_FALSE(Register(&worker, 0, epoch).ok());
}

// What a worker did cannot be repeated in this mode.
TEST_F(RecoveredServer, LetsAWorkerJoin) {
  config_.mutable_consistency()->set_mode(ConsistencyConfig::ASYNCHRONOUS);
  const uint64_t epoch = TrainOnce();
  RunningServer server(config_);
  RawWorker worker(server.address());
  ASSERT_TRUE(RegisterAgain(&worker, 0, epoch).ok());
  RegisterRequest request =
      RawWorker::ValidRegistration(config_, IdOf(1, 2), {kElements});
  request.set_keeps_snapshots(true);
  grpc::ClientContext context;
  RegisterResponse response;
  ASSERT_TRUE(worker.stub()->Register(&context, request, &response).ok());
  EXPECT_TRUE(response.joins());
  EXPECT_EQ(response.joins_at(), 1);
  RestoreRequest restore;
  *restore.mutable_worker() = IdOf(1, 2);
  restore.set_joins(true);
  restore.set_number(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(
      worker.Call("Restore", restore.SerializeAsString()).status()));
  restore.set_number(1);
  ASSERT_TRUE(worker.Call("Restore", restore.SerializeAsString()).ok());
  EXPECT_TRUE(CallSlice(&worker, "Push", 1, 1, 1, 2).ok());
  EXPECT_EQ(worker.GetStatus()->version(), 3);
}

// It had only registered when the server was killed; other servers may not have
// gone on from their logs.
TEST_F(RecoveredServer, EndsWhenAWorkerLacksTheSnapshotOfItsLog) {
  config_.mutable_consistency()->set_mode(ConsistencyConfig::ASYNCHRONOUS);
  uint64_t epoch = 0;
  {
    RunningServer server(config_);
    RawWorker worker(server.address());
    epoch = Begin(&worker);
    const auto save = [&](int rank) {
      SaveSnapshotRequest request;
      *request.mutable_worker() = IdOf(rank);
      request.set_number(2);
      const auto saved =
          worker.Call("SaveSnapshot", request.SerializeAsString());
      EXPECT_TRUE(saved.ok()) << saved.status();
    };
    std::thread other([&] { save(1); });
    save(0);
    other.join();
  }
  for (const int64_t latest : {2, 0}) {
    RunningServer server(config_);
    RawWorker worker(server.address());
    ASSERT_TRUE(RegisterAgain(&worker, 0, epoch).ok());
    FindSnapshotsRequest request;
    *request.mutable_worker() = IdOf(0);
    for (int64_t number = 0; number <= latest; number += 2) {
      request.add_snapshots(number);
    }
    const absl::Status status =
        worker.Call("FindSnapshots", request.SerializeAsString()).status();
    if (latest == 2) {
      EXPECT_TRUE(status.ok()) << status;
    } else {
      EXPECT_TRUE(absl::IsUnavailable(status)) << status;
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr("snapshot 2, which worker 0 does not have"),
                        HasSubstr("started again")));
    }
  }
}

TEST_F(RecoveredServer, LetsNobodyJoinASynchronousJob) {
  const uint64_t epoch = TrainOnce();
  RunningServer server(config_);
  RawWorker worker(server.address());
  ASSERT_TRUE(RegisterAgain(&worker, 0, epoch).ok());
  ASSERT_TRUE(Register(&worker, 1, 0, /*incarnation=*/2).ok());
  RestoreRequest restore;
  *restore.mutable_worker() = IdOf(1, 2);
  restore.set_joins(true);
  restore.set_number(1);
  const absl::Status refused =
      worker.Call("Restore", restore.SerializeAsString()).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("which this job does not allow"));
}

// A disk that has lost the end of a file.
TEST_F(RecoveredServer, EndsWhenItsLogLacksWhatWasAnswered) {
  const uint64_t epoch = TrainOnce();
  fs::resize_file(LogFile(), fs::file_size(LogFile()) - 1);
  RunningServer server(config_);
  RawWorker worker(server.address());
  ASSERT_TRUE(RegisterAgain(&worker, 0, epoch).ok());
  EXPECT_EQ(worker.GetStatus()->version(), 0);
  const absl::Status refused =
      CallSlice(&worker, "Push", 0, 1, /*iteration=*/1).status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("went on from its log; push for iteration 1"));
  EXPECT_FALSE(Register(&worker, 1, epoch).ok());
}

// All processes are started again.
TEST_F(RecoveredServer, HasAnotherEpochForANewJob) {
  const uint64_t epoch = TrainOnce();
  RunningServer server(config_);
  RawWorker worker(server.address());
  // It is not new before all workers have come without an epoch.
  EXPECT_EQ(*Register(&worker, 0, 0), kRecovering);
  EXPECT_EQ(*Register(&worker, 0, 0), kRecovering);
  const absl::Status early = Register(&worker, 1, 0).status();
  EXPECT_TRUE(absl::IsUnavailable(early)) << early;  // Worker 0 is missing.
  const auto begun = Register(&worker, 0, 0);
  ASSERT_TRUE(begun.ok()) << begun.status();
  EXPECT_NE(*begun, kRecovering);
  EXPECT_NE(*begun, epoch);
  // A worker of the earlier one finds out, and does not take the rank.
  EXPECT_EQ(*Register(&worker, 1, epoch), *begun);
  EXPECT_EQ(*Register(&worker, 1, 0, /*incarnation=*/2), *begun);
  EXPECT_EQ(worker.GetStatus()->version(), -1);
}

// Worker 1 was started again where worker 0 still ends with a snapshot.
TEST_F(RecoveredServer, EndsWhenTheWorkerStopsWhosePositionsAnotherNeeds) {
  config_.mutable_compressor()->set_name("scalecom");
  config_.mutable_downlink()->set_mode(DownlinkConfig::WEIGHTS);
  RunningServer server(config_);
  RawWorker worker(server.address());
  Begin(&worker);
  absl::Status asked;
  std::thread asking([&] {
    SliceMessage header;
    *header.mutable_worker() = IdOf(1);
    asked = worker.Call("GetPositions", MessageBytes(header, PayloadBuffer()))
                .status();
  });
  FinishRequest finish;
  *finish.mutable_worker() = IdOf(0);
  finish.set_stopped(true);
  const absl::Status finished =
      worker.Call("Finish", finish.SerializeAsString()).status();
  asking.join();
  for (const absl::Status& heard : {asked, finished}) {
    EXPECT_TRUE(absl::IsUnavailable(heard)) << heard;
    EXPECT_THAT(std::string(heard.message()),
                HasSubstr("other workers have saved a snapshot and ended"));
  }
}

// The log is that of the job before.
TEST_F(RecoveredServer, LetsNobodyGoBackAloneInANewJob) {
  TrainOnce();
  RunningServer server(config_);
  RawWorker worker(server.address());
  EXPECT_EQ(*Register(&worker, 0, 0), kRecovering);
  EXPECT_FALSE(Register(&worker, 1, 0).ok());
  for (const int rank : {0, 1}) ASSERT_TRUE(Register(&worker, rank, 0).ok());
  RestoreRequest restore;
  *restore.mutable_worker() = IdOf(1);
  restore.set_alone(true);
  const absl::Status refused =
      worker.Call("Restore", restore.SerializeAsString()).status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("goes back to snapshot 0 alone"));
  EXPECT_FALSE(Register(&worker, 0, 0).ok());
}

// The workers then find that it is another one, and all go back.
TEST_F(RecoveredServer, WithADamagedLogHasAnotherEpochWhenItComesAgain) {
  const uint64_t epoch = TrainOnce();
  {
    std::fstream file(LogFile(), std::ios::in | std::ios::out);
    ASSERT_TRUE(file.seekp(100) && file.put('x') && file.flush());
  }
  {
    RunningServer server(config_);
    RawWorker worker(server.address());
    const absl::Status refused = RegisterAgain(&worker, 0, epoch).status();
    EXPECT_FALSE(refused.ok());
  }
  RunningServer server(config_);
  RawWorker worker(server.address());
  const auto registered = Register(&worker, 0, epoch);
  ASSERT_TRUE(registered.ok()) << registered.status();
  EXPECT_NE(*registered, epoch);
}

}  // namespace
}  // namespace ps
